// `aoti-dbg run --triage` and --ci over the fake model: who crashed, where, and what is left of it; also
// where nothing can be written, and with several processes and threads.
#include <csignal>
#include <nlohmann/json.hpp>

#include "serializer/flight_ring_reader.hpp"
#include "tests/preload/cuda_models_fixture.hpp"
#include "tests/preload/preload_support.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/ring_writer.hpp"

namespace aoti_dbg::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

/// `aoti-dbg run FLAGS -- PROGRAM` in a folder of its own, writing to out().
class Run {
  public:
    explicit Run(const Lines& flags, const Lines& program, Variables env = {}) {
        env.insert({"AOTI_DBG_OUT", out().string()});
        env.insert({"AOTI_DBG_VERDICT_FILE", verdict_file().string()});
        again(flags, program, env);
    }
    void again(const Lines& flags, const Lines& program, const Variables& env) {
        Lines arguments = joined({AOTI_DBG_TOOL, "run"}, flags);
        arguments.emplace_back("--");
        outcome = run_bare(joined(arguments, program), env, std::chrono::seconds(120), folder_.path());
    }
    [[nodiscard]] fs::path folder() const { return folder_.path(); }
    [[nodiscard]] fs::path out() const { return folder() / "out"; }
    [[nodiscard]] fs::path verdict_file() const { return folder() / "verdict"; }
    [[nodiscard]] Json report(const std::string& name = "report.json") const {
        return Json::parse(read_text(out() / name));
    }
    [[nodiscard]] bool has_report() const { return !Preloaded::files(out(), "report").empty(); }
    [[nodiscard]] std::string verdict() const { return report().at("verdict").get<std::string>(); }

    Outcome outcome;

  private:
    TempFolder folder_;
};

Variables dying(int call, int signal) {
    return {{"FAKE_TORCH_DIE_AT", std::to_string(call)}, {"FAKE_TORCH_DIE_BY", std::to_string(signal)}};
}

const Lines kThreeRuns = model_host({"--runs", "3", model_path("cpu")});
const Lines kTriage = {"--triage"};

/// "kernel (run R, call C)" of the fake model's call with that number, counted from 1.
std::string place_of(int number) {
    const auto in_all = static_cast<std::size_t>(number - 1);
    return kOneRun[in_all % kOneRun.size()] + " (run " + std::to_string(in_all / kOneRun.size()) + ", call " +
           std::to_string(in_all % kOneRun.size()) + ")";
}

TEST_CASE("A signal inside a call is told with the call, in the folder, on the terminal and in one line") {
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
            // What the terminal shows is what the file holds.
            CHECK(contains(run.outcome.err, read_text(run.out() / "report.txt")));
            const Json line = Json::parse(read_text(run.verdict_file()));
            CHECK(line.at("verdict") == report.at("verdict"));
            CHECK(line.at("report") == (run.out() / "report.json").string());
        }
    }
}

TEST_CASE("SIGKILL is of unknown class, and want of memory is never said as known") {
    const Run run(kTriage, kThreeRuns, dying(3, SIGKILL));
    const std::string verdict = run.verdict();
    CHECK((contains(verdict, "; who sent it is not known") || contains(verdict, "which is a guess") ||
           contains(verdict, "; likely by the kernel")));
}

TEST_CASE("Without --triage, and where a program ends well or by itself, nothing is told") {
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

TEST_CASE("Triage by the environment, and names of calls that are printed only where somebody asks") {
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

TEST_CASE("A signal outside of any call is told as such, with the last call or with none") {
    const Run none(kTriage, {"/bin/sh", "-c", "kill -SEGV $$"});
    CHECK(none.outcome.signal == SIGSEGV);
    CHECK(none.verdict() == "segmentation fault (SIGSEGV); no call of a model was recorded");
    const std::string host = kThreeRuns[0] + " " + kThreeRuns[1] + " " + kThreeRuns[2] + " " + kThreeRuns[3];
    // The shell is the program that is started; what it started has ended well.
    const Run after(kTriage, {"/bin/sh", "-c", host + "; kill -ABRT $$"});
    CHECK(after.outcome.signal == SIGABRT);
    CHECK(after.report().at("seen").at("calls") == 3 * kOneRun.size());
    CHECK(contains(after.verdict(), "aborted (SIGABRT)"));
    CHECK_FALSE(contains(after.verdict(), "inside"));
}

TEST_CASE("An exit inside a call is told, and the exit code stays") {
    const Run run(kTriage, kThreeRuns, dying(10, 0));
    CHECK(run.outcome.exit_code == 7);
    CHECK(run.verdict() == "exit with status 7 inside " + place_of(10));
    CHECK(run.report().at("class") == "host");
}

TEST_CASE("A crash below a shell is found by its ring, and the signal by the exit status") {
    const std::string host = kThreeRuns[0] + " --runs 3 " + kThreeRuns[3];
    // Which nobody in the process sees.
    const Run signalled(kTriage, {"/bin/sh", "-c", host + "; exit $?"}, dying(17, SIGKILL));
    CHECK(signalled.outcome.exit_code == 137);
    CHECK(contains(signalled.verdict(), "killed (SIGKILL), by the exit status, inside " + place_of(17)));
    CHECK(signalled.report().at("ended").at("is_descendant") == true);
    CHECK(signalled.report().at("ended").at("exit_status") == 137);
    const Run hidden(kTriage, {"/bin/sh", "-c", host + " || exit 1"}, dying(17, SIGKILL));
    CHECK(hidden.outcome.exit_code == 1);
    CHECK(hidden.report().at("class") == "unknown");
    CHECK(contains(hidden.verdict(), "in no good order, inside " + place_of(17)));
    const Run forgiven(kTriage, {"/bin/sh", "-c", host + "; exit 0"}, dying(17, SIGKILL));
    CHECK(forgiven.outcome.exit_code == 0);
    CHECK_FALSE(forgiven.has_report());
}

/// Of the only process that has one.
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
        // The run, and the call.
        CHECK(open_calls_in(contents) == 2);
    }
    const Run thread(kTriage, {victim_path("dying_thread"), "_exit", model_path("cpu")});
    CHECK(thread.outcome.signal == SIGSEGV);
    CHECK(ring_below(thread.out()).header.signal == SIGSEGV);
    CHECK(ring_below(thread.out()).header.signal_thread != ring_below(thread.out()).header.pid);
}

TEST_CASE("The ring has no signal of a process that ends otherwise, or that handles its own") {
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

TEST_CASE("A call that was left by an exception is none that a later signal came inside of") {
    const Lines program = model_host({"--throw", "--then-fault", model_path("throwing")});
    const Run run(kTriage, program);
    CHECK(run.outcome.signal == SIGSEGV);
    CHECK(run.outcome.out == run_bare(program).out);
    const ring::Contents contents = ring_below(run.out());
    CHECK(contents.header.signal == SIGSEGV);
    CHECK(open_calls_in(contents) == 0);
    CHECK_FALSE(contains(run.verdict(), " inside "));
}

TEST_CASE("What killed a program that recorded nothing has killed its child, which is told") {
    const std::string host = kThreeRuns[0] + " --runs 3 " + kThreeRuns[3];
    // It stops inside of a call, and dies a little later than the program.
    const std::string script =
        host +
        " & child=$!; until grep -q 'State:.T' /proc/$child/status; do sleep 0.05; done; "
        "(sleep 0.3; kill -KILL $child) & kill -KILL $$";
    const Run run(kTriage, {"/bin/sh", "-c", script}, dying(17, SIGSTOP));
    CHECK(run.outcome.signal == SIGKILL);
    CHECK(run.verdict().rfind("killed (SIGKILL), as the program was, inside " + place_of(17), 0) == 0);
}

TEST_CASE("A crash below a program that ended well is told, and decides its exit code where that is wanted") {
    const TempFolder folder;
    ring::FileHeader header = file_header();
    header.pid = 4'000'200;  // beyond any process there is
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

TEST_CASE("Several threads inside of calls are told as a set, each by its call") {
    const Run run(kTriage, model_host({"--threads", "4", "--runs", "4000", model_path("cpu")}),
                  dying(2000, SIGSEGV));
    REQUIRE(run.outcome.signal == SIGSEGV);
    const Json report = run.report();
    const std::size_t open = report.at("in_flight").size();
    CHECK(open >= 1);
    CHECK(open <= 4);
    CHECK(report.contains("call") == (open == 1));
    CHECK(contains(run.verdict(), open == 1 ? "inside" : " calls were in flight"));
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
    CHECK(contains(read_text(files[0]), "no call of a model was recorded"));
}

TEST_CASE("Where nothing can be written the report is on standard error, and why is said") {
    const TempFolder folder;
    write_text(folder.path() / "file", "in the way");
    Variables env = dying(17, SIGSEGV);
    env["AOTI_DBG_OUT"] = folder.path() / "file" / "out";
    env["AOTI_DBG_VERDICT_FILE"] = folder.path() / "file" / "verdict";
    const Run run(kTriage, kThreeRuns, env);
    CHECK(run.outcome.signal == SIGSEGV);
    CHECK(contains(run.outcome.err, "aoti-dbg: segmentation fault (SIGSEGV)"));
    CHECK(contains(run.outcome.err, "the report is not in the output folder"));
    CHECK(contains(run.outcome.err, "check AOTI_DBG_VERDICT_FILE"));
}

/// A program in a mount namespace of its own, with `at` a file system of memory; empty where there is none.
Lines on_disk(const std::string& options, const fs::path& at, const std::string& script) {
    const auto command = [&](const std::string& what) {
        return Lines{"unshare", "-m", "/bin/sh", "-c",
                     "mount -t tmpfs -o " + options + " none " + at.string() + " && " + what};
    };
    return run_program(command("true")).exit_code == 0 ? command(script) : Lines{};
}

const std::string kTriagedHost =
    std::string(AOTI_DBG_TOOL) + " run --triage -- " + kThreeRuns[0] + " --runs 3 " + kThreeRuns[3];

TEST_CASE("From a working directory that cannot be written the report is on standard error") {
    const TempFolder disk;
    const Lines program = on_disk("ro", disk.path(), "cd " + disk.path().string() + " && " + kTriagedHost);
    if (program.empty()) {
        WARN("skipped: no file system can be mounted here");
        return;
    }
    const Outcome outcome = run_bare(program, dying(17, SIGSEGV));
    CHECK(contains(outcome.err, "aoti-dbg: segmentation fault (SIGSEGV); no call of a model was recorded"));
    CHECK(contains(outcome.err, "the report is not in the output folder"));
    // By both, the library and the command, it is said as it is.
    CHECK(contains(outcome.err, "Read-only file system"));
    CHECK_FALSE(contains(outcome.err, "No such file or directory"));
}

TEST_CASE("On a full disk the report is on standard error, and no piece of it is left") {
    const TempFolder disk;
    const std::string at = disk.path().string();
    const Lines program = on_disk("size=4m", disk.path(),
                                  "mkdir " + at + "/out; head -c 8m /dev/zero > " + at +
                                      "/all 2> /dev/null; " + kTriagedHost + "; ls -A " + at + "/out");
    if (program.empty()) {
        WARN("skipped: no file system can be mounted here");
        return;
    }
    Variables env = dying(17, SIGSEGV);
    env["AOTI_DBG_OUT"] = at + "/out";
    const Outcome outcome = run_bare(program, env);
    CHECK(contains(outcome.err, "aoti-dbg: segmentation fault (SIGSEGV)"));
    CHECK(contains(outcome.err, "the report is not in the output folder"));
    CHECK_FALSE(contains(outcome.out, "report"));
}

TEST_CASE("The verdict is appended to what stands there, also of runs at once") {
    const TempFolder folder;
    const fs::path file = folder.path() / "verdicts";
    write_text(file, "before\n");
    Variables env = dying(3, SIGSEGV);
    env["AOTI_DBG_VERDICT_FILE"] = file;
    const Run first(kTriage, kThreeRuns, env);
    const Run second({"--triage", "--verdict-file", file.string()}, kThreeRuns, dying(3, SIGKILL));
    const Lines lines = lines_of(read_text(file));
    REQUIRE(lines.size() == 3);
    CHECK(lines[0] == "before");
    CHECK(Json::parse(lines[1]).at("signal") == "SIGSEGV");
    CHECK(Json::parse(lines[2]).at("signal") == "SIGKILL");
}

// ---- many runs

/// Dies in the same call each time, in a folder of its own named after `name`.
Outcome die_in(const fs::path& parent, const std::string& name, const Lines& flags) {
    Variables env = dying(3, SIGSEGV);
    env["AOTI_DBG_OUT"] = (parent / name).string();
    Lines command = joined({AOTI_DBG_TOOL, "run", "--triage"}, flags);
    command.emplace_back("--");
    return run_bare(joined(command, kThreeRuns), env, std::chrono::seconds(120), parent);
}

TEST_CASE("Of the folders with reports the newest are kept, and nothing else is touched") {
    const TempFolder parent;
    const auto has = [&](const std::string& name) {
        return fs::exists(parent.path() / name / "report.json");
    };
    for (const std::string name : {"first", "second", "third"}) {
        die_in(parent.path(), name, {});
        const auto age = std::chrono::hours(name == "first" ? 3 : name == "second" ? 2 : 1);
        const fs::path report = parent.path() / name / "report.json";
        fs::last_write_time(report, fs::last_write_time(report) - age);
    }
    fs::create_directories(parent.path() / "data");
    write_text(parent.path() / "data" / "numbers", "1 2 3");
    fs::create_directories(parent.path() / "foreign");
    write_text(parent.path() / "foreign" / "report.json", "{\"format\": \"junit\"}");
    fs::create_directory_symlink(parent.path() / "first", parent.path() / "a_link");

    const Outcome all = die_in(parent.path(), "%p", {});
    CHECK_FALSE(contains(all.err, "removed"));
    CHECK(has("first"));
    // Four, and this one.
    const Outcome some = die_in(parent.path(), "%p", {"--max-reports", "3"});
    CHECK(some.signal == SIGSEGV);
    CHECK(contains(some.err, "2 older reports removed from " + parent.path().string()));
    CHECK_FALSE(fs::exists(parent.path() / "first"));
    CHECK_FALSE(fs::exists(parent.path() / "second"));
    CHECK(has("third"));
    CHECK(fs::exists(parent.path() / "data" / "numbers"));
    CHECK(fs::exists(parent.path() / "foreign" / "report.json"));
    CHECK(fs::is_symlink(parent.path() / "a_link"));
}

TEST_CASE("Where all runs share a folder, the limit says nothing of those beside it") {
    const TempFolder parent;
    die_in(parent.path(), "first", {});
    const Outcome second = die_in(parent.path(), "second", {"--max-reports", "1"});
    CHECK_FALSE(contains(second.err, "removed"));
    CHECK(fs::exists(parent.path() / "first" / "report.json"));
    CHECK(fs::exists(parent.path() / "second" / "report.json"));
}

// ---- CI

TEST_CASE("A program under --ci in which no model was seen ends with a code of its own") {
    const Run nothing({"--ci"}, {"/bin/true"});
    CHECK(nothing.outcome.exit_code == 123);
    CHECK(contains(nothing.outcome.err, "0 processes recorded 0 runs and 0 calls; 0 findings; report: none"));
    CHECK(Run({"--ci"}, {"/bin/sh", "-c", "exit 3"}).outcome.exit_code == 3);
    CHECK(Run({"--ci", "--require", "none"}, {"/bin/true"}).outcome.exit_code == 0);
    CHECK(Run({"--ci", "--require", "library"}, {"/bin/true"}).outcome.exit_code == 0);
    CHECK(Run({"--ci"}, kThreeRuns).outcome.exit_code == 0);
    CHECK(Run({}, {"/bin/true"}, {{"AOTI_DBG_CI", "1"}}).outcome.exit_code == 123);
    const Run crashed({"--ci", "--triage"}, kThreeRuns, dying(3, SIGSEGV));
    CHECK(crashed.outcome.signal == SIGSEGV);
    CHECK(contains(crashed.outcome.err, "report: " + (crashed.out() / "report.json").string()));
}

TEST_CASE("Names are portable under --ci, unless they are asked not to be") {
    const auto value_under = [](const Lines& flags, const Variables& env = {}) {
        return Run(joined(flags, {"--level", "1"}), model_host({model_path("cpu")}), env);
    };
    const auto has_colon = [](const Run& run) {
        for (const auto& entry : fs::recursive_directory_iterator(run.out() / "tensors"))
            if (contains(entry.path().filename().string(), "::")) return true;
        return false;
    };
    const Run plain = value_under({});
    const Run ci = value_under({"--ci"});
    REQUIRE(fs::exists(plain.out() / "tensors"));
    REQUIRE(fs::exists(ci.out() / "tensors"));
    CHECK(has_colon(plain));
    CHECK_FALSE(has_colon(ci));
    CHECK(has_colon(value_under({"--ci", "--portable-names", "off"})));
}

#ifdef AOTI_DBG_HAS_FAKE_CUDA
TEST_CASE("Findings of a program that ended well decide its exit code where that is wanted") {
    const Lines program = cuda_models({}, {"stats"});
    const Lines check = {"--check", "nan"};
    const auto code = [&](const Lines& flags) {
        return Run(joined(check, flags), program).outcome.exit_code;
    };
    REQUIRE(contains(Run(check, program).outcome.err, "[ finding"));
    CHECK(code({}) == 0);
    CHECK(code({"--triage"}) == 0);
    CHECK(code({"--error-exitcode", "42"}) == 42);
    CHECK(code({"--ci"}) == 1);
    CHECK(code({"--ci", "--error-exitcode", "0"}) == 0);
    const Run run(joined(check, {"--triage", "--ci"}), program);
    CHECK(run.report().at("class") == "kernel");
    CHECK(run.report().at("finding").at("kind") == "nan");
    CHECK(run.report().at("seen").at("findings") >= 1);
    CHECK(run.report().at("ended").at("exit_status") == 0);
}
#endif

TEST_CASE("Annotations and JUnit XML say what the report says, and a file that is there is kept") {
    const TempFolder folder;
    const fs::path junit = folder.path() / "results.xml";
    write_text(junit, "an older one");
    const Run run({"--triage", "--annotate", "github", "--junit", junit.string()}, kThreeRuns,
                  dying(10, SIGSEGV));
    CHECK(run.outcome.signal == SIGSEGV);
    CHECK(contains(run.outcome.err, "\n::error title=aoti-dbg%3A host::segmentation fault (SIGSEGV) inside " +
                                        place_of(10) + "\n"));
    CHECK(read_text(junit) == "an older one");
    CHECK(contains(run.outcome.err, "is there already and stays"));
    const std::string xml = read_text(folder.path() / "results.2.xml");
    CHECK(contains(xml, "failures=\"1\""));
    CHECK(contains(xml, "<failure message=\"segmentation fault (SIGSEGV) inside " + place_of(10) + "\">"));
}

Outcome reported(const fs::path& folder) {
    return run_bare({AOTI_DBG_TOOL, "report", folder.string()}, {}, std::chrono::seconds(120));
}

TEST_CASE("A program that was armed by variables and killed is reported on when it has ended") {
    Variables variables = dying(5, SIGKILL);  // of which the program cannot tell itself
    variables["AOTI_DBG_TRIAGE"] = "1";
    const Preloaded died(kThreeRuns, variables);
    const Outcome report = reported(died.out());
    CHECK(report.exit_code == 0);
    CHECK(contains(report.out, "inside " + place_of(5)));
    CHECK(contains(report.out, "in no good order"));
    CHECK(read_text(died.out() / "report.txt") == report.out);
    const Json json = Json::parse(read_text(died.out() / "report.json"));
    CHECK(json.at("call").at("kernel") == kOneRun[4]);
    // Those of the command are not the program's.
    CHECK((!json.contains("variables") || json.at("variables").empty()));
    // Nothing is overwritten.
    CHECK(reported(died.out()).exit_code == 0);
    CHECK(Preloaded::files(died.out(), "report").size() == 4);
}

TEST_CASE("Of a program that ended well there is nothing to report, and that is said") {
    const Preloaded sound(kThreeRuns, {{"AOTI_DBG_TRIAGE", "1"}});
    const Outcome report = reported(sound.out());
    CHECK(report.exit_code == 1);
    CHECK(report.out.empty());
    CHECK(contains(report.err, "nothing to report: 1 process in "));
    CHECK(Preloaded::files(sound.out(), "report").empty());
    const Outcome nowhere = reported(sound.folder());
    CHECK(nowhere.exit_code == 1);
    const Outcome missing = reported(sound.folder() / "missing");
    CHECK(missing.exit_code == 1);
    CHECK(contains(missing.err, "no process is recorded in "));
}

/// What a report says of torch; empty where it says nothing.
std::string torch_in(const Json& report) {
    return report.value("environment", Json::object()).value("torch", std::string());
}

Variables with_torch(int minor, Variables variables) {
    variables["FAKE_TORCH_MINOR"] = std::to_string(minor);
    return variables;
}

TEST_CASE("Of a program in C++ the report says which torch its model calls") {
    const Variables dies = dying(3, SIGSEGV);
    CHECK(torch_in(Run(kTriage, kThreeRuns, dies).report()) == "2.11.1");
    CHECK(torch_in(Run(kTriage, kThreeRuns, with_torch(9, dies)).report()) == "2.9.1");
    // Not where nothing is kept of the model.
    CHECK(torch_in(Run({"--triage", "--evidence", "off"}, kThreeRuns, dies).report()).empty());
    Variables armed = with_torch(10, dying(5, SIGKILL));
    armed["AOTI_DBG_TRIAGE"] = "1";
    const Preloaded alone(kThreeRuns, armed);
    CHECK(reported(alone.out()).exit_code == 0);
    CHECK(torch_in(Json::parse(read_text(alone.out() / "report.json"))) == "2.10.1");
    const std::string library = read_text(
        Preloaded::files(Preloaded::files(alone.out() / "evidence", "").front(), "library").front());
    CHECK(fs::canonical(Json::parse(library).at("torch_library").get<std::string>()) ==
          fs::canonical(std::string(AOTI_DBG_FAKES) + "/libfake_torch_cpu.so"));
}

TEST_CASE("In a folder of an earlier run it is the torch of this one that is told") {
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

TEST_CASE("What lies beside the program's Python goes before what the model's library says") {
    const TempFolder folder;
    fs::create_directories(folder.path() / "bin");
    fs::create_directories(folder.path() / "lib/python3.11/site-packages/torch-2.12.0+cpu.dist-info");
    const fs::path program = folder.path() / "bin/python3";
    fs::create_symlink(kThreeRuns[0], program);
    Lines command = kThreeRuns;
    command[0] = program.string();
    CHECK(torch_in(Run(kTriage, command, dying(3, SIGSEGV)).report()) == "2.12.0+cpu");
}

TEST_CASE("Of a process that vanished outside of any call it is said that it did not end in good order") {
    const TempFolder folder;
    ring::FileHeader header = file_header();
    header.pid = 4'000'200;  // beyond any process there is
    write_text(folder.path() / "flight.ring",
               file_start(header) + names_block({"strg::bomb"}) + thread_block(header.pid, {record(1, 0)}));
    const Outcome report = reported(folder.path());
    CHECK(report.exit_code == 1);
    CHECK(contains(report.err, "process 4000200, /usr/bin/victim, did not end in good order"));
    CHECK_FALSE(contains(report.err, "nothing to report"));
}

TEST_CASE("Wrong values of the flags start nothing") {
    for (const Lines& flags : {Lines{"--error-exitcode", "256"},
                               {"--error-exitcode", "-1"},
                               {"--error-exitcode", "x"},
                               {"--annotate", "gitlab"},
                               {"--triage=maybe"},
                               {"--require", "modle"}}) {
        CAPTURE(flags);
        const Run run(flags, {"/bin/echo", "started"});
        CHECK(run.outcome.exit_code == 125);
        CHECK(run.outcome.out.empty());
        CHECK_FALSE(run.outcome.err.empty());
    }
}

}  // namespace
}  // namespace aoti_dbg::test
