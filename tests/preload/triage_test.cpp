// `aoti-dbg run --triage` with the fake model: which process crashed, where, and with which torch, also with
// several processes and threads.
#include <csignal>

#include "serializer/flight_ring_reader.hpp"
#include "tests/preload/triage_fixture.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/places.hpp"
#include "tests/support/ring_writer.hpp"

namespace aoti_dbg::test::triage_test {
namespace {

TEST_CASE(
    "A signal inside a call is reported with the call, in the folder, on the terminal and in one line") {
    for (const auto& [signal, words, kind] : {std::tuple{SIGSEGV, "segmentation fault (SIGSEGV)", "host"},
                                              {SIGABRT, "aborted (SIGABRT)", "host"},
                                              {SIGKILL, "killed (SIGKILL)", "unknown"}}) {
        for (const int number : {1, 2, 10, 12, 14, 15, 40}) {
            CAPTURE(signal, number);
            const Run run(kTriage, kThreeRuns, dying(number, signal));
            CHECK(run.outcome.signal == signal);
            const std::string expected = std::string(words) + " inside " + place_of(number);
            CHECK(run.verdict().rfind(expected, 0) == 0);
            const Json report = run.report();
            CHECK(report.at("class") == kind);
            CHECK(report.at("call").at("kernel") == kOneRun[(static_cast<std::size_t>(number) - 1) % 14]);
            CHECK(report.at("seen").at("processes") == 1);
            // The terminal shows the contents of the file.
            CHECK(contains(run.outcome.err, read_text(run.out() / "report.txt")));
            const Json line = Json::parse(read_text(run.verdict_file()));
            CHECK(line.at("verdict") == report.at("verdict"));
            CHECK(line.at("report") == (run.out() / "report.json").string());
        }
    }
}

TEST_CASE("SIGKILL is of unknown class, and out of memory is never reported as certain") {
    const Run run(kTriage, kThreeRuns, dying(3, SIGKILL));
    const std::string verdict = run.verdict();
    CHECK((contains(verdict, "; the sender is unknown") || contains(verdict, "(a guess)") ||
           contains(verdict, "; likely by the kernel's out-of-memory killer")));
}

TEST_CASE("Without --triage, or when a program exits by itself, nothing is reported") {
    const Run without({}, kThreeRuns, dying(3, SIGSEGV));
    CHECK(without.outcome.signal == SIGSEGV);
    CHECK_FALSE(without.has_report());
    const Run well(kTriage, kThreeRuns);
    CHECK(well.outcome.exit_code == 0);
    CHECK_FALSE(well.has_report());
    CHECK_FALSE(fs::exists(well.verdict_file()));
    const Run failed(kTriage, {"/bin/sh", "-c", "exit 3"});
    CHECK(failed.outcome.exit_code == 3);
    CHECK(failed.outcome.err.empty());
    CHECK_FALSE(fs::exists(failed.out()));
}

TEST_CASE("Triage by the environment prints names of calls only on request") {
    Variables env = dying(3, SIGSEGV);
    env["AOTI_DBG_TRIAGE"] = "1";
    const Run quiet({}, kThreeRuns, env);
    CHECK(quiet.has_report());
    CHECK_FALSE(contains(quiet.outcome.err, "before_launch"));
    const Run printing({"--level", "3"}, kThreeRuns, env);
    CHECK(contains(printing.outcome.err, "before_launch"));
    const Run refused({"--triage=off"}, kThreeRuns, env);
    CHECK_FALSE(refused.has_report());
}

TEST_CASE("A signal outside of any call is reported as such, with the last call or with none") {
    const Run none(kTriage, {"/bin/sh", "-c", "kill -SEGV $$"});
    CHECK(none.outcome.signal == SIGSEGV);
    CHECK(none.verdict() == "segmentation fault (SIGSEGV); no model call was recorded");
    const std::string host = kThreeRuns[0] + " " + kThreeRuns[1] + " " + kThreeRuns[2] + " " + kThreeRuns[3];
    // The shell is the started program, and its child has exited normally.
    const Run after(kTriage, {"/bin/sh", "-c", host + "; kill -ABRT $$"});
    CHECK(after.outcome.signal == SIGABRT);
    CHECK(after.report().at("seen").at("calls") == 3 * kOneRun.size());
    CHECK(contains(after.verdict(), "aborted (SIGABRT)"));
    CHECK_FALSE(contains(after.verdict(), "inside"));
}

TEST_CASE("An exit inside a call is reported, and the exit code stays") {
    const Run run(kTriage, kThreeRuns, dying(10, 0));
    CHECK(run.outcome.exit_code == 7);
    CHECK(run.verdict() == "the program exited with status 7 inside " + place_of(10));
    CHECK(run.report().at("class") == "host");
}

TEST_CASE("A crash below a shell is found by its ring, and the signal by the exit status") {
    const std::string host = kThreeRuns[0] + " --runs 3 " + kThreeRuns[3];
    // The process itself cannot see this signal.
    const Run signalled(kTriage, {"/bin/sh", "-c", host + "; exit $?"}, dying(17, SIGKILL));
    CHECK(signalled.outcome.exit_code == 137);
    CHECK(contains(signalled.verdict(),
                   "killed (SIGKILL, inferred from the exit status) inside " + place_of(17)));
    CHECK(signalled.report().at("ended").at("is_descendant") == true);
    CHECK(signalled.report().at("ended").at("exit_status") == 137);
    const Run hidden(kTriage, {"/bin/sh", "-c", host + " || exit 1"}, dying(17, SIGKILL));
    CHECK(hidden.outcome.exit_code == 1);
    CHECK(hidden.report().at("class") == "host");
    CHECK(
        contains(hidden.verdict(), " ended abnormally inside " + place_of(17) +
                                       "; likely by SIGKILL, or by a signal that the program's own handler"));
    const Run forgiven(kTriage, {"/bin/sh", "-c", host + "; exit 0"}, dying(17, SIGKILL));
    CHECK(forgiven.outcome.exit_code == 0);
    CHECK_FALSE(forgiven.has_report());
}

TEST_CASE("With several ranks, the report says which crashed first, with that rank's variables") {
    const auto rank = [](int number) {
        return "RANK=" + std::to_string(number) + " WORLD_SIZE=2 " + kThreeRuns[0] + " --runs 3 " +
               kThreeRuns[3];
    };
    // The second rank starts and crashes after the first.
    const Run run({"--triage", "--ci"},
                  {"/bin/sh", "-c", rank(0) + "; status=$?; " + rank(1) + "; exit $status"},
                  dying(17, SIGSEGV));
    CHECK(run.outcome.exit_code == 139);
    const Json report = run.report();
    CHECK(report.at("ended").at("rank") == "0");
    CHECK(contains(report.at("ended").at("folder").get<std::string>(), "/rank0-model_host-"));
    CHECK(report.at("variables").at("RANK") == "0");
    CHECK(report.at("variables").at("WORLD_SIZE") == "2");
    CHECK(report.at("variables").at("AOTI_DBG_TRIAGE") == "on");
    CHECK(contains(unwrapped(run.outcome.err), ", rank 0, ended with SIGSEGV"));
    CHECK(contains(report.at("notes").dump(), ", rank 1) ended with SIGSEGV"));
    CHECK(Json::parse(read_text(run.verdict_file())).at("rank") == "0");
    // The command is the one that was started, without the rank's variables.
    CHECK_FALSE(contains(report.at("repeat").dump(), "RANK=0 /"));
}

TEST_CASE(
    "A process's own facts are readable by its owner only, and written only where a report may follow") {
    const Run run(kTriage, kThreeRuns, dying(3, SIGKILL));
    const fs::path file = run.out() / "process.jsonl";
    REQUIRE(fs::exists(file));
    CHECK(fs::status(file).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
    const Json line = Json::parse(read_text(file));
    CHECK(line.at("format") == "aoti-dbg-process");
    CHECK(line.at("command") == Json(kThreeRuns));
    CHECK(line.at("working_folder") == fs::canonical(run.folder()).string());
    CHECK_FALSE(line.contains("rank"));
    CHECK_FALSE(line.at("variables").contains("PATH"));
    const Run without({}, kThreeRuns, dying(3, SIGKILL));
    CHECK(fs::exists(without.out() / "flight.ring"));
    CHECK_FALSE(fs::exists(without.out() / "process.jsonl"));
    // Without the waiting command, the report is based on that file.
    Variables armed = dying(5, SIGKILL);
    armed["AOTI_DBG_TRIAGE"] = "1";
    armed["AOTI_DBG_SCOPE"] = "all";
    const Preloaded alone(kThreeRuns, armed);
    CHECK(reported(alone.out()).exit_code == 0);
    const Json report = Json::parse(read_text(alone.out() / "report.json"));
    CHECK(report.at("command") == Json(kThreeRuns));
    CHECK(contains(report.at("repeat").at(0).get<std::string>(), "run --triage --scope all --sync on"));
}

/// The ring of the only process that has one.
ring::Contents ring_below(const fs::path& out) {
    std::vector<fs::path> rings;
    for (const auto& entry : fs::recursive_directory_iterator(out))
        if (entry.path().filename() == "flight.ring") rings.push_back(entry.path());
    REQUIRE(rings.size() == 1);
    const Result<ring::Contents> contents = ring::read_flight_ring(rings.front().string());
    REQUIRE(contents.ok());
    return contents.value();
}

std::size_t open_calls_in(const ring::Contents& contents) {
    std::size_t open = 0;
    for (const ring::Call& call : ring::merged_calls(contents))
        open += ring::is_open(*call.record) ? 1 : 0;
    return open;
}

TEST_CASE("The ring has the signal that ends a process and its thread, also below another process") {
    const std::string host = kThreeRuns[0] + " --runs 3 " + kThreeRuns[3];
    for (const int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL}) {
        CAPTURE(signal);
        const Run run(kTriage, {"/bin/sh", "-c", host + "; exit 1"}, dying(17, signal));
        const ring::Contents contents = ring_below(run.out());
        CHECK(contents.header.signal == static_cast<std::uint32_t>(signal));
        CHECK(contents.header.signal_thread == contents.header.pid);
        CHECK(contents.header.ended == 0);
        // The run and the call.
        CHECK(open_calls_in(contents) == 2);
    }
    const Run thread(kTriage, {victim_path("dying_thread"), "_exit", model_path("cpu")});
    CHECK(thread.outcome.signal == SIGSEGV);
    CHECK(ring_below(thread.out()).header.signal == SIGSEGV);
    CHECK(ring_below(thread.out()).header.signal_thread != ring_below(thread.out()).header.pid);
}

TEST_CASE("The ring has no signal of a process that exits or handles its own signals") {
    const Lines handling = joined(joined({kThreeRuns[0]}, {"--handle-segv"}), {kThreeRuns[3]});
    for (const Run& run :
         {Run(kTriage, kThreeRuns, dying(5, 0)), Run(kTriage, kThreeRuns, dying(5, SIGKILL)),
          Run(kTriage, handling, dying(5, SIGSEGV)), Run({}, kThreeRuns, dying(5, SIGSEGV))}) {
        const ring::Contents contents = ring_below(run.out());
        CHECK(contents.header.signal == 0);
        CHECK(contents.header.signal_thread == 0);
        CHECK(open_calls_in(contents) == 2);
    }
}

TEST_CASE("A later signal does not count as inside a call that an exception unwound") {
    const Lines program = model_host({"--throw", "--then-fault", model_path("throwing")});
    const Run run(kTriage, program);
    CHECK(run.outcome.signal == SIGSEGV);
    CHECK(run.outcome.out == run_bare(program).out);
    const ring::Contents contents = ring_below(run.out());
    CHECK(contents.header.signal == SIGSEGV);
    CHECK(open_calls_in(contents) == 0);
    CHECK_FALSE(contains(run.verdict(), " inside "));
    // The processor reports the address of the access.
    CHECK(run.report().at("ended").at("address") == "0x0");
    CHECK(contains(unwrapped(run.outcome.err), ", ended with SIGSEGV at address 0x0"));
}

TEST_CASE("A signal that was sent has no address") {
    const Run run(kTriage, kThreeRuns, dying(5, SIGBUS));
    CHECK(run.report().at("ended").at("signal") == "SIGBUS");
    CHECK_FALSE(run.report().at("ended").contains("address"));
}

TEST_CASE(
    "A call that an exception unwound decides the exit code under --ci, even if the program caught it") {
    const Lines program = model_host({"--throw", model_path("cpu")});
    const Run run({"--triage", "--ci"}, program);
    CHECK(run.outcome.exit_code == 1);
    CHECK(run.outcome.out == run_bare(program).out);
    CHECK(run.report().at("finding").at("check") == "result");
    CHECK(contains(run.verdict(), "at::_ops::abs::call: expected success, got an exception"));
    CHECK(Run({"--triage", "--ci", "--check", "none"}, program).outcome.exit_code == 0);
}

// ---- the program's own handlers

// Python's faulthandler, enabled from the start, and as pytest enables it.
const std::pair<const std::string, std::string> kFaultHandler = {"PYTHONFAULTHANDLER", "1"};
const std::string kTurnedOn = "import faulthandler; faulthandler.enable()";

/// A run of the fake model, which may die.
Lines python_host() {
    const std::string script = kTurnedOn + "\nimport ctypes, sys\n" +
                               "host = ctypes.CDLL(sys.argv[1])\nhost.host_runs(sys.argv[2].encode(), 3)\n";
    return {"python3", "-c", script, victim_path("libhosted.so"), model_path("cpu")};
}

bool has_python() {
    return !kSanitized &&
           run_program({"python3", "-c", "import ctypes, faulthandler, multiprocessing"}).exit_code == 0;
}

TEST_CASE("A signal that Python's faulthandler passes on counts as unhandled") {
    if (!has_python()) {
        WARN("skipped: there is no Python here");
        return;
    }
    const Run plain(kTriage, joined(kThreeRuns, {}), dying(5, SIGSEGV));
    for (const int signal : {SIGSEGV, SIGABRT, SIGFPE}) {
        CAPTURE(signal);
        Variables env = dying(5, signal);
        env.insert(kFaultHandler);
        const Outcome bare = run_bare(python_host(), env);
        const Run run(kTriage, python_host(), env);
        CHECK(run.outcome.signal == bare.signal);
        CHECK(run.outcome.signal == signal);
        CHECK(run.outcome.out == bare.out);
        CHECK(contains(run.outcome.err, "Fatal Python error"));
        CHECK(ring_below(run.out()).header.signal == static_cast<std::uint32_t>(signal));
        CHECK(run.report().at("class") == "host");
        CHECK(contains(run.verdict(), " inside " + place_of(5)));
        if (signal == SIGSEGV) CHECK(run.report().at("fingerprint") == plain.report().at("fingerprint"));
    }
}

TEST_CASE("A Python program finds its signals as it does without the library, and may restore them") {
    if (!has_python()) {
        WARN("skipped: there is no Python here");
        return;
    }
    const std::string script =
        "import signal\n"
        "for one in (signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT):\n"
        "    print(signal.getsignal(one))\n"
        "signal.signal(signal.SIGABRT, signal.signal(signal.SIGABRT, signal.SIG_IGN))\n";
    const Lines program = {"python3", "-c", script};
    const Outcome bare = run_bare(program);
    CHECK(bare.exit_code == 0);
    const Run run({"--triage", "--require", "none"}, program);
    CHECK(run.outcome.out == bare.out);
    CHECK(run.outcome.exit_code == bare.exit_code);
}

TEST_CASE("A multiprocessing child's signal is reported, and its program then fails by its exit status") {
    if (!has_python()) {
        WARN("skipped: there is no Python here");
        return;
    }
    const std::string script = kTurnedOn +
                               "\nimport ctypes, multiprocessing, sys\n"
                               "def work():\n"
                               "    ctypes.CDLL(sys.argv[1]).host_runs(sys.argv[2].encode(), 3)\n"
                               "child = multiprocessing.get_context('fork').Process(target=work)\n"
                               "child.start(); child.join(); sys.exit(3 if child.exitcode == -11 else 0)\n";
    const Lines program = {"python3", "-c", script, victim_path("libhosted.so"), model_path("cpu")};
    Variables env = dying(5, SIGSEGV);
    env.insert(kFaultHandler);
    const Run run(kTriage, program, env);
    CHECK(run.outcome.exit_code == 3);
    CHECK(run.report().at("ended").at("signal") == "SIGSEGV");
    CHECK(run.report().at("class") == "host");
    CHECK(contains(run.verdict(), "segmentation fault (SIGSEGV) inside " + place_of(5)));
}

TEST_CASE("For a process that vanished inside a call, the report says what probably happened") {
    const std::string host = kThreeRuns[0] + " --handle-segv " + kThreeRuns[3];
    const Run run(kTriage, {"/bin/sh", "-c", host + "; exit 3"}, dying(5, SIGSEGV));
    CHECK(run.report().at("class") == "host");
    CHECK(contains(run.verdict(),
                   " ended inside " + place_of(5) + "; likely the call ended the process with _exit, or"));
}

TEST_CASE("A call that failed in another process than the reported one is a note") {
    const std::string host = kThreeRuns[0];
    const std::string script = "unset FAKE_TORCH_DIE_AT; " + host + " --error " + kThreeRuns[3] +
                               "; export FAKE_TORCH_DIE_AT=5; " + host + " " + kThreeRuns[3] + "; exit 3";
    const Run run(kTriage, {"/bin/sh", "-c", script}, dying(5, SIGSEGV));
    CHECK(contains(run.verdict(), "segmentation fault (SIGSEGV) inside " + place_of(5)));
    const std::string notes = run.report().at("notes").dump();
    CHECK(contains(notes, "in process "));
    CHECK(contains(notes, " failed"));
}

TEST_CASE("A child of a killed program without records is reported as killed by the same signal") {
    const std::string host = kThreeRuns[0] + " --runs 3 " + kThreeRuns[3];
    // The child stops inside a call and dies a little later than the program.
    const std::string script =
        host +
        " & child=$!; until grep -q 'State:.T' /proc/$child/status; do sleep 0.05; done; "
        "(sleep 0.3; kill -KILL $child) & kill -KILL $$";
    const Run run(kTriage, {"/bin/sh", "-c", script}, dying(17, SIGSTOP));
    CHECK(run.outcome.signal == SIGKILL);
    CHECK(run.verdict().rfind("killed (SIGKILL, inferred from the end of the program) inside " + place_of(17),
                              0) == 0);
}

TEST_CASE("A crash below a program that exited normally is reported, and sets its exit code on request") {
    const TempFolder folder;
    ring::FileHeader header = file_header();
    header.pid = 4'000'200;  // above every real process id
    header.start_unix_ns = std::uint64_t{1} << 62U;
    header.signal = SIGSEGV;
    header.signal_thread = header.pid;
    write_text(folder.path() / "flight.ring", file_start(header) + names_block({"strg::bomb"}) +
                                                  thread_block(header.pid, {open_record(1, 0)}));
    const Lines program = {"/bin/sh", "-c",
                           "mkdir -p $AOTI_DBG_OUT/child && cp " + (folder.path() / "flight.ring").string() +
                               " $AOTI_DBG_OUT/child"};
    const Lines flags = {"--triage", "--require", "none"};
    const Run plain(flags, program);
    CHECK(plain.outcome.exit_code == 0);
    CHECK(plain.verdict() == "segmentation fault (SIGSEGV) inside strg::bomb (run 0, call 1)");
    CHECK(Run(joined(flags, {"--error-exitcode", "42"}), program).outcome.exit_code == 42);
    const Run ci(joined(flags, {"--ci", "--annotate", "github", "--junit", "ci.xml"}), program);
    CHECK(ci.outcome.exit_code == 1);
    CHECK(contains(ci.outcome.err, "::error title=aoti-dbg%3A host::segmentation fault"));
    CHECK(contains(read_text(ci.folder() / "ci.xml"), "failures=\"1\""));
}

TEST_CASE("Several threads inside calls are reported as a set, each with its call") {
    const Run run(kTriage, model_host({"--threads", "4", "--runs", "4000", model_path("cpu")}),
                  dying(2000, SIGSEGV));
    REQUIRE(run.outcome.signal == SIGSEGV);
    const Json report = run.report();
    const std::size_t open = report.at("in_flight").size();
    CHECK(open >= 1);
    CHECK(open <= 4);
    CHECK(report.contains("call") == (open == 1));
    CHECK(contains(run.verdict(), open == 1 ? "inside" : " threads were inside calls"));
}

TEST_CASE("An older run in the same folder is not taken for this one, and its report stays") {
    Run run(kTriage, kThreeRuns, dying(17, SIGSEGV));
    const std::string first = read_text(run.out() / "report.json");
    run.again(kTriage, {"/bin/sh", "-c", "kill -SEGV $$"}, {{"AOTI_DBG_OUT", run.out().string()}});
    CHECK(read_text(run.out() / "report.json") == first);
    std::vector<fs::path> files = Preloaded::files(run.out(), "report-");
    REQUIRE(files.size() == 2);
    CHECK(files[0].extension() == ".json");
    CHECK(files[1].extension() == ".txt");
    CHECK(files[0].stem() == files[1].stem());
    CHECK(contains(read_text(files[0]), "no model call was recorded"));
}

std::string torch_in(const Json& report) {
    return report.value("environment", Json::object()).value("torch", std::string());
}

Variables with_torch(int minor, Variables variables) {
    variables["FAKE_TORCH_MINOR"] = std::to_string(minor);
    return variables;
}

TEST_CASE("For a C++ program, the report says which torch its model calls") {
    const Variables dies = dying(3, SIGSEGV);
    CHECK(torch_in(Run(kTriage, kThreeRuns, dies).report()) == "2.11.1");
    CHECK(torch_in(Run(kTriage, kThreeRuns, with_torch(9, dies)).report()) == "2.9.1");
    // Without evidence of the model, the report has no torch version.
    CHECK(torch_in(Run({"--triage", "--evidence", "off"}, kThreeRuns, dies).report()).empty());
    Variables armed = with_torch(10, dying(5, SIGKILL));
    armed["AOTI_DBG_TRIAGE"] = "1";
    const Preloaded alone(kThreeRuns, armed);
    CHECK(reported(alone.out()).exit_code == 0);
    CHECK(torch_in(Json::parse(read_text(alone.out() / "report.json"))) == "2.10.1");
    const std::string library = read_text(
        Preloaded::files(Preloaded::files(alone.out() / "evidence", "").front(), "library").front());
    CHECK(fs::canonical(Json::parse(library).at("torch_library").get<std::string>()) ==
          fs::canonical(std::string(places::kFakes) + "/libfake_torch_cpu.so"));
}

TEST_CASE("In a folder of an earlier run, the report has this run's torch") {
    Run run(kTriage, kThreeRuns, with_torch(9, dying(3, SIGSEGV)));
    CHECK(torch_in(run.report()) == "2.9.1");
    Variables again = with_torch(10, dying(3, SIGSEGV));
    again["AOTI_DBG_OUT"] = run.out().string();
    run.again(kTriage, kThreeRuns, again);
    std::string name;
    for (const fs::path& file : Preloaded::files(run.out(), "report-"))
        if (file.extension() == ".json") name = file.filename().string();
    REQUIRE_FALSE(name.empty());
    CHECK(torch_in(run.report(name)) == "2.10.1");
}

TEST_CASE("The torch beside the program's Python takes precedence over the one of the model's library") {
    const TempFolder folder;
    fs::create_directories(folder.path() / "bin");
    fs::create_directories(folder.path() / "lib/python3.11/site-packages/torch-2.12.0+cpu.dist-info");
    const fs::path program = folder.path() / "bin/python3";
    fs::create_symlink(kThreeRuns[0], program);
    Lines command = kThreeRuns;
    command[0] = program.string();
    CHECK(torch_in(Run(kTriage, command, dying(3, SIGSEGV)).report()) == "2.12.0+cpu");
}

TEST_CASE("A process that vanished outside of any call is reported as ended abnormally") {
    const TempFolder folder;
    ring::FileHeader header = file_header();
    header.pid = 4'000'200;  // above every real process id
    write_text(folder.path() / "flight.ring",
               file_start(header) + names_block({"strg::bomb"}) + thread_block(header.pid, {record(1, 0)}));
    const Outcome report = reported(folder.path());
    CHECK(report.exit_code == 0);
    CHECK(contains(report.out, "process 4000200 ended abnormally outside any call"));
    CHECK_FALSE(contains(report.err, "nothing to report"));
}

}  // namespace
}  // namespace aoti_dbg::test::triage_test
