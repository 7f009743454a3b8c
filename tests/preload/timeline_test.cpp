// The timeline of the device, over the software driver and a software CUPTI: spans, their calls, and that the
// library gives way to other profilers.
#include <algorithm>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/preload/cuda_models_fixture.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/places.hpp"

namespace aoti_dbg::test::timeline_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

const std::string kWithCupti = std::string(places::kFakes) + "/cupti:" + places::kFakes;

/// The model's kernels in one run. Its op launches one more.
constexpr std::size_t kKernels = 5;
constexpr std::size_t kLaunches = 6;

Preloaded timed(Lines command, Variables variables = {}) {
    variables.insert({"AOTI_DBG_TIMELINE", "1"});
    variables.insert({"AOTI_DBG_LEVEL", ""});
    variables.insert({"LD_LIBRARY_PATH", kWithCupti});
    return Preloaded(command, variables);
}

Preloaded timed_runs(int runs, Variables variables = {}) {
    return timed(cuda_models({"--runs", std::to_string(runs)}, {"stats"}), std::move(variables));
}

struct Timeline {
    explicit Timeline(const fs::path& file) {
        for (const std::string& line : lines_of(read_text(file))) {
            const Json event = Json::parse(line);
            if (event["event"] == "header") header = event;
            if (event["event"] == "device") devices.push_back(event);
            if (event["event"] == "span") spans.push_back(event);
            if (event["event"] == "coverage") coverage = event;
        }
    }
    [[nodiscard]] std::vector<Json> of(const std::string& kernel) const {
        std::vector<Json> found;
        for (const Json& span : spans)
            if (span["kernel"] == kernel) found.push_back(span);
        return found;
    }
    Json header, coverage;
    std::vector<Json> devices, spans;
};

/// The row of each recorded call, by its number.
std::map<std::uint64_t, std::string> rows_of(const Preloaded& watched) {
    std::map<std::uint64_t, std::string> rows;
    for (const std::string& row : lines_of(watched.show())) {
        std::istringstream words(row);
        std::uint64_t seq = 0;
        if (words >> seq) rows[seq] = row;
    }
    return rows;
}

bool has_timeline(const Preloaded& watched) {
    return !Preloaded::files(watched.out(), "timeline").empty();
}

TEST_CASE("Each kernel has a span that names the call that launched it") {
    const Outcome bare = run_bare(cuda_models({"--runs", "3"}, {"stats"}), {});
    for (const char* const late : {"0", "1"}) {
        const Preloaded watched = timed_runs(3, {{"FAKE_CUPTI_LATE", late}});
        CAPTURE(late, watched.outcome.err);
        CHECK(watched.outcome.exit_code == bare.exit_code);
        CHECK(watched.outcome.out == bare.out);
        const Timeline timeline(watched.out() / "timeline.jsonl");
        CHECK(timeline.header["format"] == "aoti-dbg-timeline");
        CHECK(timeline.header["version"] == 1);
        CHECK(timeline.header["source"] == "cupti");
        CHECK(timeline.coverage["counts"] == Json({{"spans", 3 * kLaunches}, {"lost", 0}}));
        REQUIRE(timeline.spans.size() == 3 * kLaunches);
        const std::map<std::uint64_t, std::string> rows = rows_of(watched);
        std::set<std::uint64_t> calls;
        for (const Json& span : timeline.spans) {
            CHECK(span["start_ns"].get<std::uint64_t>() <= span["end_ns"].get<std::uint64_t>());
            const auto seq = span["seq"].get<std::uint64_t>();
            REQUIRE(rows.count(seq) == 1);
            // An op launches a kernel of its own, which is a call, too.
            CHECK(contains(rows.at(seq), " " + span["kernel"].get<std::string>()));
            calls.insert(seq);
        }
        CHECK(calls.size() == timeline.spans.size());
        CHECK(contains(watched.outcome.err, "; 18 device spans; "));
        CHECK(contains(watched.outcome.err, "; timeline: " + (watched.out() / "timeline.jsonl").string()));
    }
}

TEST_CASE("The timeline describes each device, with what the driver knows of its memory") {
    for (const bool has_cupti : {true, false}) {
        Variables variables = {{"FAKE_CUDA_DEVICES", "2"}};
        if (!has_cupti) variables.insert({"LD_LIBRARY_PATH", places::kFakes});
        const Preloaded watched = timed_runs(1, variables);
        CAPTURE(watched.outcome.err);
        const Timeline timeline(watched.out() / "timeline.jsonl");
        REQUIRE(timeline.devices.size() == 2);
        CHECK(timeline.devices[0] == Json::parse(R"({"event": "device", "device": 0,
            "name": "Software device", "memory_clock_khz": 1000000, "memory_bus_bits": 512})"));
        CHECK(timeline.devices[1] == Json::parse(R"({"event": "device", "device": 1,
            "name": "Software device", "memory_clock_khz": 1000000})"));
    }
}

TEST_CASE("The spans of a graph name the launch of the graph") {
    const Preloaded watched = timed({victim_path("graph_capture")});
    CAPTURE(watched.outcome.err);
    const Timeline timeline(watched.out() / "timeline.jsonl");
    const std::map<std::uint64_t, std::string> rows = rows_of(watched);
    std::map<std::uint64_t, int> of_graphs;
    for (const Json& span : timeline.spans) {
        const auto seq = span["seq"].get<std::uint64_t>();
        // Another thread launches more than its ring keeps.
        if (rows.count(seq) != 0 && contains(rows.at(seq), " CUDA graph ")) ++of_graphs[seq];
    }
    CHECK(!of_graphs.empty());
    for (const auto& [seq, spans] : of_graphs)
        CHECK(spans > 1);
}

TEST_CASE("Nothing loads CUPTI without the option, and the file is absent") {
    const Preloaded watched = timed_runs(1, {{"AOTI_DBG_TIMELINE", "0"}, {"AOTI_DBG_LEVEL", "3"}});
    CHECK(watched.outcome.exit_code == 0);
    CHECK(!has_timeline(watched));
    CHECK(!contains(watched.outcome.err, "span"));
}

/// Makes CUPTI unusable, so that markers measure the times.
const std::pair<const std::string, std::string> kInjected = {"CUDA_INJECTION64_PATH",
                                                             "/opt/nsys/libToolsInjection64.so"};

std::vector<std::uint64_t> numbers_of(const Timeline& timeline) {
    std::vector<std::uint64_t> numbers;
    for (const Json& span : timeline.spans)
        numbers.push_back(span["seq"]);
    return numbers;
}

/// Checks that the spans are within the last minute and that each ends after it starts.
void check_times(const Timeline& timeline) {
    const auto now = static_cast<std::uint64_t>(time(nullptr)) * 1'000'000'000;
    std::map<std::string, std::uint64_t> last_ends;
    for (const Json& span : timeline.spans) {
        CAPTURE(span.dump());
        const std::uint64_t start = span["start_ns"];
        const std::uint64_t end = span["end_ns"];
        CHECK(start <= end);
        CHECK(end < now + 2'000'000'000);
        CHECK(start > now - 60'000'000'000);
        std::uint64_t& last = last_ends[span["stream"]];
        CHECK(end >= last);
        last = end;
    }
}

TEST_CASE("Markers measure the times, and the library says why once, if CUPTI cannot be used") {
    const Outcome bare = run_bare(cuda_models({"--runs", "2"}, {"stats"}), {});
    const auto check = [&](Variables variables, const std::string& why) {
        const Preloaded watched = timed_runs(2, std::move(variables));
        CAPTURE(watched.outcome.err);
        CHECK(watched.outcome.exit_code == bare.exit_code);
        CHECK(watched.outcome.out == bare.out);
        const std::string said = "markers after the launches measure the timeline, because ";
        const std::size_t at = watched.outcome.err.find(said + why);
        REQUIRE(at != std::string::npos);
        CHECK(watched.outcome.err.find(said, at + 20) == std::string::npos);
        CHECK(Preloaded::files(watched.out(), "timeline").size() == 1);
        const Timeline timeline(watched.out() / "timeline.jsonl");
        CHECK(timeline.header["source"] == "markers");
        CHECK(timeline.coverage["counts"] == Json({{"spans", 2 * kLaunches}, {"lost", 0}}));
        const std::map<std::uint64_t, std::string> rows = rows_of(watched);
        const std::vector<std::uint64_t> numbers = numbers_of(timeline);
        CHECK(std::is_sorted(numbers.begin(), numbers.end()));
        CHECK(std::set<std::uint64_t>(numbers.begin(), numbers.end()).size() == 2 * kLaunches);
        for (const Json& span : timeline.spans)
            CHECK(contains(rows.at(span["seq"]), " " + span["kernel"].get<std::string>()));
        check_times(timeline);
    };
    check({{"LD_LIBRARY_PATH", places::kFakes}}, "");
    check({{"FAKE_CUPTI_HELD", "1"}}, "another profiler, such as torch.profiler, uses CUPTI");
    check({{"FAKE_CUPTI_REFUSES", "1"}}, "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES");
    check({kInjected}, "another profiler is injected ");
    check({kInjected, {"FAKE_CUDA_DELAY_US", "500"}}, "another profiler is injected ");
}

TEST_CASE("A marker follows a graph, and no marker is captured into one") {
    const Outcome bare = run_bare({victim_path("graph_capture")}, {});
    const Preloaded watched = timed({victim_path("graph_capture")}, {kInjected});
    CAPTURE(watched.outcome.err);
    CHECK(watched.outcome.exit_code == bare.exit_code);
    CHECK(watched.outcome.out == bare.out);
    const Timeline timeline(watched.out() / "timeline.jsonl");
    CHECK(timeline.of("CUDA graph").size() > 1);
    // Another thread may launch more than the library can read.
    CHECK(timeline.coverage["counts"]["spans"] == timeline.spans.size());
    check_times(timeline);
}

TEST_CASE("Markers follow launches in every context, and on the default stream of every thread") {
    const auto check = [](const Lines& command, std::size_t spans, std::size_t lost, std::size_t devices) {
        const Outcome bare = run_bare(command, {{"FAKE_CUDA_DEVICES", "3"}});
        const Preloaded watched = timed(command, {kInjected, {"FAKE_CUDA_DEVICES", "3"}});
        CAPTURE(watched.outcome.err);
        CHECK(watched.outcome.out == bare.out);
        const Timeline timeline(watched.out() / "timeline.jsonl");
        std::set<int> seen;
        for (const Json& span : timeline.spans)
            seen.insert(span["device"].get<int>());
        CHECK(seen.size() == devices);
        CHECK(timeline.coverage["counts"] == Json({{"spans", spans}, {"lost", lost}}));
    };
    check({victim_path("several_devices"), "3", "40", "legacy"}, 120, 0, 3);
    check({victim_path("several_devices"), "3", "40", "own"}, 120, 0, 3);
    // It releases its context and gets another with the same handle. One of its kernels faults.
    check({victim_path("runtime_road")}, 410, 1, 1);
}

TEST_CASE("Kernels whose markers fail count as lost, and the program goes on") {
    const Outcome bare = run_bare(cuda_models({"--runs", "2"}, {"stats"}), {});
    for (const auto& refusal :
         {Variables{{"FAKE_CUDA_REFUSE", "aoti_dbg_time"}}, Variables{{"FAKE_CUDA_NO_FATBIN", "1"}}}) {
        Variables variables = refusal;
        variables.insert(kInjected);
        const Preloaded watched = timed_runs(2, variables);
        CAPTURE(watched.outcome.err);
        CHECK(watched.outcome.exit_code == bare.exit_code);
        CHECK(watched.outcome.out == bare.out);
        const Timeline timeline(watched.out() / "timeline.jsonl");
        CHECK(timeline.coverage["counts"] == Json({{"spans", 0}, {"lost", 2 * kLaunches}}));
    }
}

TEST_CASE("After a fault, markers that do not arrive count as lost") {
    const Preloaded watched = timed_runs(2, {kInjected, {"FAKE_CUDA_FAIL_AT", "9"}});
    CAPTURE(watched.outcome.err);
    const Timeline timeline(watched.out() / "timeline.jsonl");
    check_times(timeline);
    CHECK(timeline.coverage["counts"]["spans"] == timeline.spans.size());
    CHECK(timeline.coverage["counts"]["lost"] > 0);
}

TEST_CASE("The timeline ends, with one line, when another profiler starts") {
    const Preloaded watched =
        timed_runs(3, {{"LD_PRELOAD", places::kOtherProfiler}, {"OTHER_PROFILER_AT", "8"}});
    CAPTURE(watched.outcome.err);
    CHECK(watched.outcome.exit_code == 0);
    CHECK(contains(watched.outcome.err, "other profiler: subscribed 0, foreign buffers 0\n"));
    CHECK(contains(watched.outcome.err,
                   " warn: another profiler, such as torch.profiler, starts to use CUPTI. "));
    const Timeline timeline(watched.out() / "timeline.jsonl");
    CHECK(!timeline.spans.empty());
    CHECK(timeline.spans.size() <= 8);
    CHECK(timeline.coverage["counts"]["spans"] == timeline.spans.size());
}

TEST_CASE("A program ends in time although CUPTI does not answer") {
    const Preloaded watched = timed_runs(1, {{"FAKE_CUPTI_STUCK", "1"}});
    CHECK(watched.outcome.exit_code == 0);
    CHECK(contains(watched.outcome.err, " warn: CUPTI does not respond. "));
}

TEST_CASE("A killed program leaves the spans that were delivered") {
    const Preloaded watched = timed(cuda_models({"--runs", "3"}, {"stats"}),
                                    {{"FAKE_CUDA_DIE_AT", "9"}, {"FAKE_CUDA_DIE_BY", "9"}});
    const Timeline timeline(watched.out() / "timeline.jsonl");
    CHECK(timeline.header["source"] == "cupti");
    CHECK(timeline.coverage.is_null());
    // Blank lines fill the end of the file.
    CHECK(timeline.spans.size() <= 9);
}

TEST_CASE("The timeline is complete if the program ends by _exit") {
    const Preloaded watched = timed(cuda_models({"--runs", "2"}, {"stats"}),
                                    {{"FAKE_CUDA_DIE_AT", "9"}, {"FAKE_CUDA_DIE_BY", "0"}});
    CHECK(watched.outcome.exit_code == 7);
    const Timeline timeline(watched.out() / "timeline.jsonl");
    CHECK(timeline.coverage["counts"]["spans"] == timeline.spans.size());
    CHECK(timeline.spans.size() >= kKernels);
}

TEST_CASE("A model on the CPU has no timeline, and needs no CUPTI") {
    const Preloaded watched = timed({victim_path("fork_victim"), "vfork_exec", model_path("cpu")});
    CAPTURE(watched.outcome.err);
    CHECK(watched.outcome.exit_code == 0);
    CHECK(!has_timeline(watched));
    CHECK(!contains(watched.outcome.err, "no timeline"));
}

}  // namespace
}  // namespace aoti_dbg::test::timeline_test
