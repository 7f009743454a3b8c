// The output of `aoti-dbg run --triage` and --ci after a crash, and its place: folders, files and exit codes.
#include <sys/stat.h>

#include <csignal>

#include "tests/preload/cuda_models_fixture.hpp"
#include "tests/preload/triage_fixture.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/places.hpp"

namespace aoti_dbg::test::triage_output_test {
namespace {

TEST_CASE("A command that a page cannot hold is exact in report.json, and reproduces the crash") {
    const Lines shell = {"/bin/sh", "-c", "kill -SEGV $$\n# two lines"};
    const Run run({"--triage", "--scope", "all", "--check", "none", "--require", "none"}, shell);
    const Json report = run.report();
    CHECK(report.at("working_folder") == fs::canonical(run.folder()).string());
    const std::string command = report.at("repeat").at(0);
    CHECK(contains(command, " --check none --scope all --sync on"));
    CHECK(contains(read_text(run.out() / "report.txt"), "  reproduce      (exact in report.json) "));
    CHECK(contains(run.outcome.err, "  in directory   " + fs::canonical(run.folder()).string()));
    CHECK_FALSE(fs::exists(run.out() / "repeat.sh"));
    const Outcome again =
        run_bare({"/bin/sh", "-c", "cd " + report.at("working_folder").get<std::string>() + "\n" + command});
    CHECK(again.exit_code == 128 + SIGSEGV);
    CHECK(contains(again.err, "aoti-dbg: segmentation fault (SIGSEGV)"));
    CHECK(fs::exists(run.folder() / "aoti_dbg"));
    // The bare name of the command is enough where a shell finds it.
    const fs::path tool(places::kTool);
    const Run found(kTriage, {"/bin/sh", "-c", "kill -SEGV $$"},
                    {{"PATH", tool.parent_path().string() + ":/usr/bin:/bin"}});
    CHECK(found.report().at("repeat").at(0) ==
          "aoti-dbg run --triage --sync on --level 2 -- /bin/sh -c 'kill -SEGV $$'");
}

TEST_CASE("The verdict is appended to the file's contents, even by concurrent runs") {
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
    Lines command = joined({places::kTool, "run", "--triage"}, flags);
    command.emplace_back("--");
    return run_bare(joined(command, kThreeRuns), env, std::chrono::seconds(120), parent);
}

TEST_CASE("The newest report folders are kept, and nothing else is touched") {
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
    // Four older folders and this one.
    const Outcome some = die_in(parent.path(), "%p", {"--max-reports", "3"});
    CHECK(some.signal == SIGSEGV);
    CHECK(contains(some.err, "removed 2 older reports from " + parent.path().string()));
    CHECK_FALSE(fs::exists(parent.path() / "first"));
    CHECK_FALSE(fs::exists(parent.path() / "second"));
    CHECK(has("third"));
    CHECK(fs::exists(parent.path() / "data" / "numbers"));
    CHECK(fs::exists(parent.path() / "foreign" / "report.json"));
    CHECK(fs::is_symlink(parent.path() / "a_link"));
}

TEST_CASE("If all runs share a folder, the limit ignores the folders beside it") {
    const TempFolder parent;
    die_in(parent.path(), "first", {});
    const Outcome second = die_in(parent.path(), "second", {"--max-reports", "1"});
    CHECK_FALSE(contains(second.err, "removed"));
    CHECK(fs::exists(parent.path() / "first" / "report.json"));
    CHECK(fs::exists(parent.path() / "second" / "report.json"));
}

// ---- CI

TEST_CASE("A program under --ci without a model ends with a code of its own") {
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

TEST_CASE("Names are portable under --ci unless the options say otherwise") {
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
TEST_CASE("Findings of a program that exits normally set its exit code on request") {
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

TEST_CASE("The first ten findings are reported one by one, and the others as a count") {
    const TempFolder folder;
    const fs::path junit = folder.path() / "results.xml";
    std::string program;
    for (const std::string& word : cuda_models({}, {"stats"}))
        program += " '" + word + "'";
    std::string twelve;
    for (int i = 0; i < 12; ++i)
        twelve += program + " > /dev/null;";
    const Run run({"--triage", "--ci", "--check", "nan", "--junit", junit.string()}, {"sh", "-c", twelve});
    CHECK(run.outcome.exit_code == 1);
    const auto findings = run.report().at("seen").at("findings").get<std::uint64_t>();
    REQUIRE(findings >= 12);
    const std::string xml = read_text(junit);
    CHECK(contains(xml, "name=\"no more findings\""));
    CHECK(contains(xml,
                   "<failure message=\"" + std::to_string(findings - 10) + " more findings; events.jsonl"));
}

TEST_CASE("Under --ci, findings of a program that could write nowhere still fail the run") {
    const TempFolder folder;
    write_text(folder.path() / "file", "in the way");
    const fs::path junit = folder.path() / "results.xml";
    const Run run({"--triage", "--ci", "--annotate", "github", "--check", "nan", "--junit", junit.string()},
                  cuda_models({}, {"stats"}),
                  {{"AOTI_DBG_OUT", folder.path() / "file" / "out"}, {"AOTI_DBG_RING", "0"}});
    CHECK(run.outcome.exit_code == 1);
    CHECK(contains(run.outcome.err, ", none of them recorded"));
    CHECK(contains(run.outcome.err, "\n::error title=aoti-dbg%3A findings::"));
    const std::string xml = read_text(junit);
    CHECK(contains(xml, "name=\"no findings\""));
    CHECK(contains(xml, ", none of them recorded\">"));
}
#endif

TEST_CASE("Annotations and JUnit XML agree with the report, and an existing file is kept") {
    const TempFolder folder;
    const fs::path junit = folder.path() / "results.xml";
    write_text(junit, "an older one");
    const Run run({"--triage", "--annotate", "github", "--junit", junit.string()}, kThreeRuns,
                  dying(10, SIGSEGV));
    CHECK(run.outcome.signal == SIGSEGV);
    CHECK(contains(run.outcome.err, "\n::error title=aoti-dbg%3A host::segmentation fault (SIGSEGV) inside " +
                                        place_of(10) + "\n"));
    CHECK(read_text(junit) == "an older one");
    CHECK(contains(run.outcome.err, "already exists. The JUnit results of this run are in "));
    const std::string xml = read_text(folder.path() / "results.2.xml");
    CHECK(contains(xml, "failures=\"1\""));
    CHECK(contains(xml, "<failure message=\"segmentation fault (SIGSEGV) inside " + place_of(10) + "\">"));
}

TEST_CASE("A killed program with triage by variables is reported on after its end") {
    Variables variables = dying(5, SIGKILL);  // it cannot report its own death
    variables["AOTI_DBG_TRIAGE"] = "1";
    const Preloaded died(kThreeRuns, variables);
    const Outcome report = reported(died.out());
    CHECK(report.exit_code == 0);
    CHECK(contains(report.out, "inside " + place_of(5)));
    CHECK(contains(report.out, "ended abnormally"));
    CHECK(read_text(died.out() / "report.txt") == report.out);
    const Json json = Json::parse(read_text(died.out() / "report.json"));
    CHECK(json.at("call").at("kernel") == kOneRun[4]);
    // These are the program's variables, not those of the command.
    CHECK(json.at("variables").at("AOTI_DBG_TRIAGE") == "1");
    // A second report overwrites nothing.
    CHECK(reported(died.out()).exit_code == 0);
    CHECK(Preloaded::files(died.out(), "report").size() == 4);
}

TEST_CASE("A program that was killed between its calls is reported on too") {
    const Preloaded died({victim_path("signal_user"), "killed", model_path("cpu")},
                         {{"AOTI_DBG_TRIAGE", "1"}});
    const Outcome report = reported(died.out());
    CHECK(report.exit_code == 0);
    const std::string pid =
        std::to_string(Json::parse(read_text(died.out() / "report.json")).at("ended").at("pid").get<int>());
    CHECK(
        contains(unwrapped(report.out),
                 "process " + pid + " ended abnormally outside any call; the last call was " + place_of(14)));
    CHECK(contains(unwrapped(report.out),
                   "SIGKILL, the program's own signal handler or exec ends a process like this."));
    CHECK(contains(report.err, "report: " + (died.out() / "report.json").string()));
}

TEST_CASE("A program that execs another one has not vanished") {
    const Preloaded replaced({victim_path("exec_victim"), model_path("cpu")}, {{"AOTI_DBG_TRIAGE", "1"}});
    REQUIRE(Preloaded::files(replaced.out(), "flight").size() > 1);
    const Outcome report = reported(replaced.out());
    CHECK(report.exit_code == 1);
    CHECK(contains(report.err, "nothing to report"));
}

TEST_CASE("The path of a report is printed, without --ci too") {
    const Run run(kTriage, kThreeRuns, dying(5, SIGSEGV));
    CHECK(contains(run.outcome.err, "report: " + (run.out() / "report.json").string()));
    const Run sound(kTriage, kThreeRuns);
    CHECK_FALSE(contains(sound.outcome.err, "report:"));
}

TEST_CASE("The folder for JUnit XML is created, and the file is readable by others") {
    const mode_t before = umask(022);
    const Run run({"--triage", "--junit", "made/here/results.xml"}, {"/bin/sh", "-c", "exit 0"});
    umask(before);
    const fs::path file = run.folder() / "made/here/results.xml";
    CHECK(contains(read_text(file), "failures=\"0\""));
    CHECK(static_cast<unsigned>(fs::status(file).permissions()) == 0644U);
    CHECK(static_cast<unsigned>(fs::status(file.parent_path()).permissions()) == 0755U);
}

TEST_CASE("For a program that exited normally, a message says that there is nothing to report") {
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
}  // namespace aoti_dbg::test::triage_output_test
