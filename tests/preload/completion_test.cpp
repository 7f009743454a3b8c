// Completion markers, where the driver writes no core dump and where a program hangs. They name the kernel or
// a few candidates and claim only what is certain. The program must not notice them.
#include <csignal>

#include "tests/preload/faulted_launch.hpp"
#include "tests/support/places.hpp"

namespace aoti_dbg::test::completion_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

const Variables kNoDump = {{"FAKE_CUDA_NO_COREDUMP", "1"}};

int times_said(const std::string& text, const std::string& part) {
    int count = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
        ++count;
    return count;
}

/// The candidates: the one call, or all suspects.
Json suspects_of(const Json& report) {
    return report.contains("suspects") ? report.at("suspects") : Json::array({report.at("call")});
}

bool has(const Json& calls, const char* member, const Json& value) {
    return std::any_of(calls.begin(), calls.end(),
                       [&](const Json& call) { return call.at(member) == value; });
}

/// `marked HOW`, bare and under `aoti-dbg run FLAGS`.
struct Marked {
    explicit Marked(const Lines& how, Variables variables = kNoDump, const Lines& flags = {"--triage"},
                    const char* program = "marked") {
        const Lines victim = joined({victim_path(program)}, how);
        bare = run_bare(victim, variables);
        variables["AOTI_DBG_OUT"] = out().string();
        run =
            run_bare(joined(joined({places::kTool, "run"}, joined(flags, {"--scope", "all", "--"})), victim),
                     variables);
        CAPTURE(bare.out, run.out, run.err);
        CHECK(run.out == bare.out);
        CHECK(run.exit_code == bare.exit_code);
        if (fs::exists(out() / "report.json")) report = Json::parse(read_text(out() / "report.json"));
    }
    [[nodiscard]] fs::path out() const { return folder_.path() / "out"; }
    [[nodiscard]] std::string verdict() const { return report.at("verdict"); }
    [[nodiscard]] bool said_a_refusal() const { return contains(run.err, "which launches have finished"); }

    Outcome bare;
    Outcome run;
    Json report;

  private:
    TempFolder folder_;
};

Variables failing_at(int launch) {
    Variables variables = kNoDump;
    variables["FAKE_CUDA_FAIL_AT"] = std::to_string(launch);
    return variables;
}

TEST_CASE("On one stream, markers name the one launch of a thousand that faulted, from any thread") {
    for (const Way way : {Way{1, 1}, {1, 3}}) {
        for (int launch = 1; launch <= kLaunches; launch += launch < 3 ? 1 : 89) {
            CAPTURE(way.threads, launch);
            const FaultedLaunch faulted(way, launch, kNoDump);
            const Json& call = faulted.report.at("call");
            CAPTURE(call.dump(), faulted.verdict);
            const std::string kernel = "kernel_" + std::to_string((launch - 1) % 5);
            CHECK(call.at("kernel") == kernel);
            CHECK(call.at("seq") == faulted.expected_seq);
            CHECK_FALSE(call.contains("likely"));
            CHECK(faulted.report.at("by_markers") == true);
            CHECK(faulted.report.at("class") == "kernel");
            CHECK(faulted.verdict.rfind("illegal memory access (CUDA error 700) in " + kernel, 0) == 0);
            CHECK(contains(faulted.verdict, ", according to completion markers"));
        }
    }
}

TEST_CASE(
    "On several streams, the suspects are each stream's first unfinished launch, the faulted one among "
    "them") {
    for (const Way way : {Way{3, 1}, {2, 2}, {3, 3}}) {
        for (int launch = 1; launch <= kLaunches; launch += launch < 3 ? 1 : 89) {
            CAPTURE(way.streams, way.threads, launch);
            const FaultedLaunch faulted(way, launch, kNoDump);
            const Json suspects = suspects_of(faulted.report);
            CAPTURE(suspects.dump(), faulted.verdict);
            CHECK(faulted.report.at("by_markers") == true);
            CHECK(has(suspects, "seq", faulted.expected_seq));
            CHECK(suspects.size() <= static_cast<std::size_t>(way.streams));
            const bool is_one = faulted.report.contains("call");
            CHECK(is_one == (suspects.size() == 1));
            CHECK(contains(faulted.verdict, is_one ? ") in kernel_" : ") in one of "));
            CHECK(contains(faulted.verdict, ", according to completion markers"));
        }
    }
}

TEST_CASE("A fault within a graph is reported as the launch of the graph") {
    for (int launch = kGraph + 1; launch <= kGraph + 3; ++launch) {
        CAPTURE(launch);
        const FaultedLaunch faulted({1, 1}, launch, kNoDump);
        CHECK(faulted.report.at("call").at("kind") == "graph");
        CHECK(contains(faulted.verdict, "in CUDA graph, according to completion markers"));
    }
}

TEST_CASE("The failed context is reported even if another context has a stream with the same handle") {
    for (int launch = 1; launch <= 10; ++launch) {
        CAPTURE(launch);
        const Marked run({"contexts"}, failing_at(launch));
        CAPTURE(run.report.dump(2));
        CHECK(run.report.at("call").at("kernel") == "kernel_" + std::to_string(launch - 1));
        CHECK_FALSE(run.report.at("call").contains("likely"));
    }
}

TEST_CASE("Contexts that come and go are marked like the first one") {
    const Marked well({"again", "5"});
    CHECK_FALSE(well.said_a_refusal());
    for (const int launch : {1, 14, 25, 43}) {
        CAPTURE(launch);
        const Marked run({"again", "5"}, failing_at(launch));
        CAPTURE(run.run.err);
        CHECK_FALSE(run.said_a_refusal());
        CHECK(run.report.at("call").at("kernel") == "kernel_" + std::to_string((launch - 1) % 10));
        CHECK_FALSE(run.report.at("call").contains("likely"));
    }
}

TEST_CASE(
    "With more busy streams than marker slots, one message says so and no launch is reported as certain") {
    CHECK_FALSE(Marked({"streams", "400"}).said_a_refusal());
    const Marked well({"streams", "600"});
    CHECK(times_said(well.run.err, "some launches have no completion markers: too many streams") == 1);
    const Marked run({"streams", "600"}, failing_at(607));
    const Json suspects = suspects_of(run.report);
    CAPTURE(suspects.dump());
    CHECK(has(suspects, "kernel", "kernel_6"));
    CHECK((suspects.size() > 1 || suspects.at(0).contains("likely")));
}

TEST_CASE("Threads that end leave their marker slots to new threads") {
    const Marked run({"churn", "700"});
    CHECK_FALSE(run.said_a_refusal());
    const Marked failing({"churn", "700"}, failing_at(650));
    // The rings of ended threads are kept for a limited time, and markers do not make up for the records
    // lost.
    CAPTURE(failing.report.dump());
    const bool is_known =
        failing.report.contains("by_markers") && !failing.report.at("call").contains("likely");
    CHECK((!is_known || failing.report.at("call").at("kernel") == "kernel_9"));
}

TEST_CASE("Threads that share a stream leave at most one suspect each") {
    for (const int launch : {1, 100, 277}) {
        CAPTURE(launch);
        Variables variables = failing_at(launch);
        variables["FAKE_CUDA_NAME_FAULT"] = "1";
        const Marked run({"together", "4"}, variables);
        // Each thread launches a kernel of its own name.
        const std::size_t said = run.run.err.find(" has faulted");
        REQUIRE(said != std::string::npos);
        const std::string kernel = run.run.err.substr(said - 8, 8);
        const Json suspects = suspects_of(run.report);
        CAPTURE(suspects.dump(), kernel);
        CHECK(has(suspects, "kernel", kernel));
        CHECK(suspects.size() <= 4);
    }
}

TEST_CASE("A capture beside marked launches stays intact and contains no marker") {
    const Marked run({}, kNoDump, {"--triage"}, "graph_capture");
    CHECK_FALSE(run.said_a_refusal());
    const ring::Contents ring = ring_of(run.out());
    REQUIRE(ring.markers.size() == 1);
    std::size_t captured = 0;
    for (const ring::Call& call : ring::merged_calls(ring)) {
        const bool is_captured = (call.record->flags & ring::kCaptured) != 0;
        captured += is_captured ? 1 : 0;
        // Some launches fail, because the victim also breaks captures.
        if (is_launch(call.record->kind) && call.record->result == 0)
            CHECK((call.record->mark == 0) == is_captured);
    }
    CHECK(captured > 0);
}

TEST_CASE("A forked child does not touch its parent's markers") {
    CHECK_FALSE(Marked({"fork"}).said_a_refusal());
    const Marked run({"fork"}, failing_at(8));
    CHECK(run.report.at("call").at("kernel") == "kernel_7");
}

TEST_CASE("If the driver refuses markers, one message says so and the program does not notice") {
    Variables variables = failing_at(5);
    variables["FAKE_CUDA_NO_STREAM_VALUES"] = "1";
    const Marked run({"contexts"}, variables);
    CHECK(times_said(run.run.err,
                     "completion markers are off: the driver refused to write one (CUDA "
                     "error 801)") == 1);
    CHECK_FALSE(run.report.contains("by_markers"));
    CHECK(contains(run.verdict(), "returned by "));
    variables.erase("FAKE_CUDA_FAIL_AT");
    const Marked well({"together", "3"}, variables);
    CHECK(times_said(well.run.err, "completion markers are off") == 1);
}

TEST_CASE("Markers are used only where they are needed or requested") {
    const auto markers = [](const Variables& variables, const Lines& flags) {
        const Marked run({"contexts"}, variables, flags);
        return ring_of(run.out()).markers;
    };
    // Triage alone needs no markers, because the driver writes a core dump.
    CHECK(markers({}, {"--triage"}).empty());
    CHECK(markers({}, {"--triage", "--hang", "30"}).size() == 2);
    CHECK(markers({}, {"--hang", "30"}).size() == 2);
    CHECK(markers(kNoDump, {"--triage", "--completion", "off"}).empty());
    CHECK(markers(kNoDump, {"--triage", "--completion", "blocking"}).empty());
    CHECK(markers(kNoDump, {"--hang", "30", "--completion", "off"}).empty());
    CHECK(markers({{"CUDA_LAUNCH_BLOCKING", "1"}}, {"--hang", "30"}).empty());
    CHECK(markers(kNoDump, {"--completion", "markers"}).empty());
    const std::vector<ring::Markers> asked = markers({}, {"--triage", "--completion", "markers"});
    REQUIRE(asked.size() == 2);
    CHECK(asked.front().header.flags == ring::kMayRunOn);
    CHECK(markers(kNoDump, {"--triage"}).front().header.flags == 0);
}

TEST_CASE("A fault with a core dump is reported from the dump, even with markers") {
    const FaultedLaunch faulted({3, 1}, 300, {}, {"--completion", "markers"});
    CHECK(faulted.report.at("call").at("seq") == faulted.expected_seq);
    CHECK(faulted.report.contains("device"));
    CHECK_FALSE(faulted.report.contains("by_markers"));
}

TEST_CASE("Without the command, a message says that blocking launches also need CUDA_LAUNCH_BLOCKING") {
    const Variables asked = {{"AOTI_DBG_TRIAGE", "1"}, {"AOTI_DBG_COMPLETION", "blocking"}};
    const Preloaded run({victim_path("marked"), "contexts"}, asked);
    CHECK(times_said(run.outcome.err, "Set CUDA_LAUNCH_BLOCKING=1 as well") == 1);
    const Marked by_command({"contexts"}, kNoDump, {"--triage", "--completion", "blocking"});
    CHECK_FALSE(contains(by_command.run.err, "CUDA_LAUNCH_BLOCKING"));
}

TEST_CASE("On a stalled stream the unfinished launch is named as certain") {
    const auto hung = [](const char* completion) {
        const TempFolder folder;
        const std::string out = (folder.path() / "out").string();
        const Outcome run =
            run_bare({places::kTool, "run", "--hang", "1", "--on-hang", "abort", "--scope", "all",
                      "--completion", completion, "--", victim_path("marked"), "stuck"},
                     {{"AOTI_DBG_OUT", out}});
        CHECK(run.out == "launched\n");
        CHECK(run.signal == SIGABRT);
        CAPTURE(run.err);
        Json report = Json::parse(read_text(out + "/report.json"));
        report["said"] = run.err;
        return report;
    };
    const std::string known =
        "; it waits for kernel_5, which is unfinished according to completion markers; 3 launches are queued "
        "behind it";
    for (const char* completion : {"auto", "markers"}) {
        const Json report = hung(completion);
        CAPTURE(report.dump(2));
        CHECK(report.at("call").at("kernel") == "kernel_5");
        CHECK_FALSE(report.at("call").contains("likely"));
        CHECK(contains(report.at("verdict"), known));
        CHECK(contains(report.at("said"), known));
        CHECK(report.at("hang").at("by_markers") == true);
        CHECK(report.at("hang").at("unended_count") == 4);
    }
    const Json without = hung("off");
    CHECK(without.at("call").at("kernel") == "kernel_0");
    CHECK(contains(without.at("verdict"), "likely waits for kernel_0, the oldest of 9 launches"));
}

}  // namespace
}  // namespace aoti_dbg::test::completion_test
