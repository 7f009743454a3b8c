// Triage by AOTI_DBG_TRIAGE=1 alone, without `aoti-dbg run` to wait for the end. The report exists when the
// program is gone, and the program ends as it would have.
#include <csignal>
#include <nlohmann/json.hpp>

#include "tests/preload/cuda_models_fixture.hpp"
#include "tests/preload/preload_support.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/places.hpp"

namespace aoti_dbg::test::own_report_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

const Lines kThreeRuns = model_host({"--runs", "3", model_path("cpu")});

/// Dies inside the call with that number, counted from 1. Signal 0 means _exit with 7, -1 exit with 8, and -2
/// quick_exit with 9.
Variables dying(int call, int signal) {
    return {{"FAKE_TORCH_DIE_AT", std::to_string(call)}, {"FAKE_TORCH_DIE_BY", std::to_string(signal)}};
}

Preloaded armed(const Lines& argv, Variables variables) {
    variables.insert({"AOTI_DBG_LEVEL", "0"});
    variables.insert({"AOTI_DBG_TRIAGE", "1"});
    return Preloaded(argv, variables);
}

Json report_of(const Preloaded& run) {
    return Json::parse(read_text(run.out() / "report.json"));
}

void check_as_bare(const Preloaded& run, const Lines& argv, const Variables& fakes) {
    const Outcome bare = run_bare(argv, fakes);
    CHECK(run.outcome.out == bare.out);
    CHECK(run.outcome.exit_code == bare.exit_code);
    CHECK(run.outcome.signal == bare.signal);
}

TEST_CASE("The dying process itself reports a signal inside a call, and ends by it as before") {
    for (const auto& [signal, words] :
         std::vector<std::pair<int, const char*>>{{SIGSEGV, "segmentation fault (SIGSEGV)"},
                                                  {SIGABRT, "aborted (SIGABRT)"},
                                                  {SIGBUS, "bus error (SIGBUS)"},
                                                  {SIGFPE, "floating point exception (SIGFPE)"},
                                                  {SIGILL, "illegal instruction (SIGILL)"}}) {
        CAPTURE(signal);
        Variables variables = dying(5, signal);
        const TempFolder folder;
        const std::string verdict_file = (folder.path() / "verdict").string();
        variables["AOTI_DBG_VERDICT_FILE"] = verdict_file;
        const Preloaded run = armed(kThreeRuns, variables);
        check_as_bare(run, kThreeRuns, dying(5, signal));
        CHECK(run.outcome.signal == signal);
        const std::string text = read_text(run.out() / "report.txt");
        CHECK(text.rfind("aoti-dbg: " + std::string(words) + " inside " + kOneRun[4], 0) == 0);
        CHECK(contains(run.outcome.err, text));
        const Json report = report_of(run);
        CHECK(report.at("call").at("kernel") == kOneRun[4]);
        CHECK(report.at("command").at(0) == kThreeRuns.at(0));
        CHECK(report.at("variables").at("AOTI_DBG_TRIAGE") == "1");
        CHECK(Json::parse(read_text(verdict_file)).at("verdict") == report.at("verdict"));
        CHECK(Preloaded::files(run.out(), "report").size() == 2);
    }
}

TEST_CASE("An exit inside a call and one after a failed call are reported") {
    const Preloaded inside = armed(kThreeRuns, dying(10, 0));
    check_as_bare(inside, kThreeRuns, dying(10, 0));
    CHECK(inside.outcome.exit_code == 7);
    const std::string verdict = report_of(inside).at("verdict");
    CHECK(verdict.rfind("the program exited with status 7 inside " + kOneRun[9], 0) == 0);
    // By exit() and by quick_exit().
    for (const auto& [end, status] : {std::pair{-1, 8}, {-2, 9}}) {
        const Preloaded other = armed(kThreeRuns, dying(10, end));
        check_as_bare(other, kThreeRuns, dying(10, end));
        CHECK(other.outcome.exit_code == status);
        const std::string said = report_of(other).at("verdict");
        CHECK(said.rfind("the program exited with status " + std::to_string(status) + " inside " + kOneRun[9],
                         0) == 0);
    }
    const Lines failing = model_host({"--error", "--exit", "3", model_path("cpu")});
    const Preloaded after = armed(failing, {});
    check_as_bare(after, failing, {});
    CHECK(after.outcome.exit_code == 3);
    CHECK(report_of(after).at("verdict").get<std::string>().rfind(
              "the program exited with status 3; earlier, ", 0) == 0);
}

TEST_CASE("A later exit does not count as inside a call that an exception unwound") {
    const Lines leaving = model_host({"--throw", "--then-exit", model_path("throwing")});
    const Preloaded run = armed(leaving, {});
    check_as_bare(run, leaving, {});
    CHECK(run.outcome.exit_code == 5);
    const std::string verdict = report_of(run).at("verdict");
    CHECK(verdict.rfind("an exception unwound ", 0) == 0);
    CHECK(contains(verdict, "; the program then exited with status 5"));
    CHECK_FALSE(contains(verdict, " inside "));
}

TEST_CASE("A program sees fatal signals as it does alone, under `aoti-dbg run` and without") {
    for (const char* how : {"before", "after", "chained", "ignored", "abort", "store", "sent", "child",
                            "child_runs", "vforked", "exec"}) {
        CAPTURE(how);
        const Lines program = {victim_path("signal_user"), how, model_path("cpu")};
        const Outcome bare = run_bare(program);
        check_as_bare(armed(program, {}), program, {});
        const TempFolder folder;
        const Outcome run = run_bare(joined({places::kTool, "run", "--triage", "--"}, program),
                                     {{"AOTI_DBG_OUT", (folder.path() / "out").string()}});
        CHECK(run.out == bare.out);
        CHECK(run.exit_code == bare.exit_code);
        CHECK(run.signal == bare.signal);
    }
}

TEST_CASE("The program's own signal handling stays in effect") {
    const Lines handling =
        joined({victim_path("model_host"), "--handle-segv"}, {"--runs", "3", model_path("cpu")});
    const Preloaded run = armed(handling, dying(5, SIGSEGV));
    CHECK(run.outcome.exit_code == 42);
    check_as_bare(run, handling, dying(5, SIGSEGV));
    // It ends by _exit inside the call, and that still counts.
    CHECK(contains(report_of(run).at("verdict").get<std::string>(),
                   "the program exited with status 42 inside "));
}

TEST_CASE("No handler of the program runs in the processes that write the report") {
    const Lines victim = {victim_path("dying_thread"), "signalled", model_path("cpu")};
    for (int i = 0; i < 8; ++i) {
        const Preloaded run = armed(victim, {});
        check_as_bare(run, victim, {});
        CHECK(run.outcome.signal == SIGSEGV);
    }
}

TEST_CASE("A normal exit, a run without triage and a program without a model report nothing") {
    const Preloaded well = armed(kThreeRuns, {});
    CHECK(well.outcome.exit_code == 0);
    CHECK(Preloaded::files(well.out(), "report").empty());
    CHECK_FALSE(contains(well.outcome.err, "report"));
    const Preloaded unarmed(kThreeRuns, dying(5, SIGSEGV));
    CHECK(unarmed.outcome.signal == SIGSEGV);
    CHECK(Preloaded::files(unarmed.out(), "report").empty());
    for (const char* end : {"exit 3", "kill -SEGV $$"}) {
        CAPTURE(end);
        const Lines shell = {"/bin/sh", "-c", end};
        const Preloaded other = armed(shell, {});
        check_as_bare(other, shell, {});
        CHECK_FALSE(fs::exists(other.out()));
        CHECK(other.outcome.err == run_bare(shell, {}).err);
    }
}

TEST_CASE("Under `aoti-dbg run` only the command writes a report") {
    const TempFolder folder;
    Variables variables = dying(5, SIGSEGV);
    variables["AOTI_DBG_OUT"] = (folder.path() / "out").string();
    const Outcome run = run_bare(joined({places::kTool, "run", "--triage", "--"}, kThreeRuns), variables);
    CHECK(run.signal == SIGSEGV);
    CHECK(Preloaded::files(folder.path() / "out", "report").size() == 2);
    const std::size_t first = run.err.find("aoti-dbg: segmentation fault");
    REQUIRE(first != std::string::npos);
    CHECK(run.err.find("aoti-dbg: segmentation fault", first + 1) == std::string::npos);
}

TEST_CASE("Without the command beside the library the program ends as it does, and `report` works later") {
    const TempFolder folder;
    const fs::path alone = folder.path() / "libaoti_dbg.so";
    fs::copy_file(fs::path(places::kTool).parent_path() / "libaoti_dbg.so", alone);
    Variables variables = dying(5, SIGSEGV);
    variables["AOTI_DBG_TRIAGE"] = "1";
    variables["AOTI_DBG_OUT"] = (folder.path() / "out").string();
    variables["LD_PRELOAD"] = preload_value(alone.string());
    const Outcome run = run_program(kThreeRuns, variables);
    CHECK(run.signal == SIGSEGV);
    CHECK(Preloaded::files(folder.path() / "out", "report").empty());
    const std::size_t said = run.err.find("warn: cannot find aoti-dbg beside the library");
    CHECK(said != std::string::npos);
    CHECK(said == run.err.rfind("warn: cannot find aoti-dbg beside the library"));
    const Outcome report = run_bare({places::kTool, "report", (folder.path() / "out").string()});
    CHECK(report.exit_code == 0);
    CHECK(contains(report.out, " inside " + kOneRun[4]));
}

TEST_CASE("A thread's signal ends the process even if the main thread exits meanwhile, and no child shows") {
    for (const char* how : {"exit", "_exit"}) {
        CAPTURE(how);
        const Lines victim = {victim_path("dying_thread"), how};
        const Preloaded run = armed(joined(victim, {model_path("cpu")}), {});
        check_as_bare(run, joined(victim, {model_path("cpu")}), {});
        CHECK(run.outcome.signal == SIGSEGV);
        CHECK(fs::exists(run.out() / "report.json"));
        CHECK_FALSE(contains(run.outcome.out, "a child"));
    }
    const Lines failing = {victim_path("dying_thread"), "fail", model_path("cpu")};
    const Preloaded run = armed(failing, {});
    check_as_bare(run, failing, {});
    CHECK(run.outcome.exit_code == 3);
    CHECK_FALSE(contains(run.outcome.out, "a child"));
}

TEST_CASE("If the program closed standard error, nothing is written to the file that took its number") {
    const Lines shell = joined({"/bin/sh", "-c", "exec 2>&-; exec \"$@\"", "sh"}, kThreeRuns);
    const Preloaded run = armed(shell, dying(5, SIGSEGV));
    CHECK(run.outcome.signal == SIGSEGV);
    CHECK(run.outcome.err.empty());
    CHECK(contains(report_of(run).at("verdict").get<std::string>(), "segmentation fault"));
}

TEST_CASE("The report does not end up in the program's output, and holds none of its descriptors open") {
    // The pipe ends when every process that can write to it is gone.
    const Lines shell = joined({"/bin/sh", "-c", "\"$@\" | cat; echo after", "sh"}, kThreeRuns);
    Variables variables = dying(5, SIGSEGV);
    const Preloaded run = armed(shell, variables);
    CHECK(run.outcome.out == run_bare(shell, variables).out);
    CHECK(ends_with(run.outcome.out, "after\n"));
}

#ifdef AOTI_DBG_HAS_FAKE_CUDA
const Lines kCudaProgram = cuda_models({"--runs", "2"}, {"stats"});

TEST_CASE("A GPU fault is reported when the program ends, and the driver's dump is removed") {
    for (const bool keeps : {false, true}) {
        CAPTURE(keeps);
        Variables variables = {{"FAKE_CUDA_FAIL_AT", "5"}};
        if (keeps) variables["AOTI_DBG_KEEP_DUMP"] = "1";
        const Preloaded run = armed(kCudaProgram, variables);
        check_as_bare(run, kCudaProgram, {{"FAKE_CUDA_FAIL_AT", "5"}});
        CHECK(contains(report_of(run).at("verdict").get<std::string>(), "illegal memory access in "));
        CHECK(fs::exists(run.out() / "gpu.core") == keeps);
        CHECK(contains(run.outcome.err, read_text(run.out() / "report.txt")));
    }
}

TEST_CASE("A finding is reported even if the program exits normally") {
    const Lines wrong = {victim_path("wrong_arguments"), "host", model_path("stats")};
    const Preloaded run = armed(wrong, {});
    check_as_bare(run, wrong, {});
    CHECK(run.outcome.exit_code == 0);
    CHECK(report_of(run).at("class") == "host");
}
#endif

TEST_CASE("A relative verdict path starts at the directory of process start, even after chdir") {
    const Lines python = {"python3", "-c", "import ctypes"};
    if (kSanitized || run_program(python).exit_code != 0) {
        WARN("skipped: there is no Python here");
        return;
    }
    const std::string script =
        "import ctypes, os, sys; host = ctypes.CDLL(sys.argv[1]); os.chdir('/'); "
        "host.host_runs(sys.argv[2].encode(), 1)";
    Variables variables = dying(5, SIGSEGV);
    variables["AOTI_DBG_VERDICT_FILE"] = "verdict";
    const Preloaded run =
        armed({"python3", "-c", script, victim_path("libhosted.so"), model_path("cpu")}, variables);
    CHECK(run.outcome.signal == SIGSEGV);
    CHECK(Json::parse(read_text(run.folder() / "verdict")).at("signal") == "SIGSEGV");
    CHECK_FALSE(contains(run.outcome.err, "the verdict is not there"));
}

}  // namespace
}  // namespace aoti_dbg::test::own_report_test
