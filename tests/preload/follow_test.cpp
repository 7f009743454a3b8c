// `aoti-dbg show --follow` beside programs that run, end, are killed, or are several.
#include "tests/preload/preload_support.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/places.hpp"

namespace aoti_dbg::test::follow_test {
namespace {

namespace fs = std::filesystem;

/// Follows a folder that does not exist yet, while `script` records into it. The script has `start LEVEL RUNS
/// PACE`, which sets `pid`, and `await TEXT`, which waits until TEXT was printed.
struct Followed {
    explicit Followed(const std::string& script, const std::string& flags = {}) {
        const std::string prelude =
            "\"$TOOL\" show \"$OUT\" --follow $FLAGS > printed 2> said & follow=$!\n"
            "for i in $(seq 400); do grep -q waiting said && break; sleep 0.02; done\n"
            "start() { AOTI_DBG_LEVEL=$1 AOTI_DBG_LOG=/dev/null AOTI_DBG_OUT=\"$OUT\" "
            "LD_PRELOAD=\"$PRELOAD\" "
            "\"$HOST\" --runs $2 --pace $3 \"$MODEL\" > /dev/null 2>&1 & pid=$!; }\n"
            "await() { for i in $(seq 400); do grep -q -- \"$1\" printed && return; sleep 0.05; done; echo "
            "late; }\n";
        const Variables env = {{"TOOL", places::kTool},
                               {"OUT", out().string()},
                               {"FLAGS", flags},
                               {"PRELOAD", preload_value()},
                               {"HOST", victim_path("model_host")},
                               {"MODEL", model_path("cpu")}};
        outcome = run_bare({"bash", "-c", prelude + script + "\nwait $follow; echo end $?"}, env,
                           std::chrono::seconds(120), folder_.path());
        printed = read_text(folder_.path() / "printed");
        said = read_text(folder_.path() / "said");
    }
    [[nodiscard]] fs::path out() const { return folder_.path() / "out"; }
    [[nodiscard]] Lines lines() const { return lines_of(printed); }

    Outcome outcome;
    std::string printed;
    std::string said;

  private:
    TempFolder folder_;
};

Outcome shown(const fs::path& out, const std::string& format) {
    return run_bare({places::kTool, "show", out.string(), "--format", format});
}

}  // namespace

TEST_CASE("At level 2, events are printed while the program runs, as show prints them afterwards") {
    for (const std::string format : {"compact", "text", "jsonl"}) {
        const Followed run("start 2 100 300; await 'aoti_torch_cpu_addmm_out'; kill $pid && echo live",
                           format == "compact" ? "" : "--format " + format);
        CAPTURE(format, run.said, run.outcome.err);
        CHECK(run.outcome.out == "live\nend 0\n");
        CHECK(run.printed == shown(run.out(), format).out);
        CHECK(contains(run.said, "waiting for a program to record into"));
    }
}

TEST_CASE("At level 3, the calls of the ring are printed, each once") {
    const Followed run("start 3 3 200");
    CAPTURE(run.said, run.printed);
    CHECK(run.outcome.out == "end 0\n");
    CHECK(contains(run.said, "ended normally"));
    std::size_t calls = 0;
    for (const std::string& line : run.lines())
        calls += contains(line, "cpp_fused_relu_0") ? 1 : 0;
    CHECK(calls == 3);
    CHECK_FALSE(contains(run.said, "overwritten"));
}

TEST_CASE("A program that is killed ends it, too") {
    const Followed run("start 2 40 500; await 'aoti_torch_cpu_addmm_out'; kill -9 $pid");
    CAPTURE(run.said);
    CHECK(run.outcome.out == "end 0\n");
    CHECK(contains(run.said, "ended abnormally"));
    CHECK(run.printed == shown(run.out(), "compact").out);
}

TEST_CASE("Where the newest run has ended, the next one is followed") {
    const Followed run(
        "place=$OUT; kill $follow; OUT=$place/first; start 3 1 0; wait $pid; ln -s first $place/latest\n"
        "\"$TOOL\" show $place --follow > printed 2> said & follow=$!; sleep 0.5\n"
        "OUT=$place/second; start 3 2 300; ln -sfn second $place/latest; wait $pid");
    CAPTURE(run.said, run.printed);
    CHECK(run.outcome.out == "end 0\n");
    CHECK(contains(run.said, "has ended. Waiting for the next one."));
    CHECK(contains(run.said, "ended normally"));
    std::size_t calls = 0;
    for (const std::string& line : run.lines())
        calls += contains(line, "cpp_fused_relu_0") ? 1 : 0;
    CHECK(calls == 2);
}

TEST_CASE("A file cannot be followed") {
    const Outcome file = run_bare({places::kTool, "show", places::kTool, "--follow"});
    CHECK(file.exit_code == 1);
    CHECK(contains(file.err, "it is not a directory"));
    CHECK(run_bare({places::kTool, "show", "--follow", "--all"}).exit_code != 0);
}

TEST_CASE("The lines of several programs begin with their process") {
    const Followed run(
        "start 2 100 300; one=$pid; await 'addmm'; start 3 2 300; echo $one $pid; wait $pid; await "
        "\"\\[$one\\] \"\n"
        "await \"\\[$pid\\] \"; kill $one");
    CAPTURE(run.said, run.printed);
    const Lines ids = lines_of(run.outcome.out);
    REQUIRE(ids.size() == 2);
    const std::string first = ids[0].substr(0, ids[0].find(' '));
    const std::string second = ids[0].substr(ids[0].find(' ') + 1);
    CHECK(contains(run.printed, "\n[" + first + "] "));
    CHECK(contains(run.printed, "[" + second + "] "));
    CHECK(contains(run.said, "process " + first + " ended"));
    CHECK(contains(run.said, "process " + second + " ended normally"));
}

}  // namespace aoti_dbg::test::follow_test
