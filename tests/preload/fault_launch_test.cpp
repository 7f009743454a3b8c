// Which launch it was that faulted, of a thousand: the driver's dump says a number, and the ring has the
// same.
#include <nlohmann/json.hpp>

#include "serializer/flight_ring_reader.hpp"
#include "tests/preload/preload_support.hpp"
#include "tests/support/catch.hpp"

namespace aoti_dbg::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr int kLaunches = 1000;
constexpr int kIllegalAddress = 700;
constexpr int kGraph = kLaunches / 2;  // those before it are not behind a graph

struct Way {
    int streams;
    int threads;
    int names = 5;
};

/// The seq of a launch, counted from 1 without those that the driver refused, in the ring.
std::uint64_t seq_of(const fs::path& ring, int launch) {
    const Result<ring::Contents> read = ring::read_flight_ring(ring.string());
    REQUIRE(read.ok());
    const std::vector<ring::Call> calls = ring::merged_calls(read.value());
    for (const ring::Call& call : calls) {
        const ring::Record& record = *call.record;
        const bool was_made = record.result == 0 || record.result == kIllegalAddress;
        if (record.kind == ring::CallKind::launch && was_made && --launch == 0) return record.seq;
    }
    FAIL("the ring has lost it");
    return 0;
}

/// The report's call of a run whose launch with that number faults.
struct Faulted {
    Faulted(const Way& way, int launch, Variables variables = {}, const char* told = "call") {
        const TempFolder folder;
        const fs::path out = folder.path() / "out";
        const Lines argv = {AOTI_DBG_TOOL,
                            "run",
                            "--triage",
                            "--scope",
                            "all",
                            "--",
                            victim_path("numbered_launches"),
                            std::to_string(kLaunches),
                            std::to_string(way.streams),
                            std::to_string(way.threads),
                            std::to_string(way.names)};
        variables["AOTI_DBG_OUT"] = out.string();
        variables["FAKE_CUDA_FAIL_AT"] = std::to_string(launch);
        const Outcome run = run_bare(argv, variables);
        CAPTURE(run.err);
        CHECK(run.out == "end: 700\n");
        CHECK(run.exit_code == 0);
        REQUIRE(fs::exists(out / "report.json"));
        const Json report = Json::parse(read_text(out / "report.json"));
        call = report.at(told);
        verdict = report.at("verdict");
        expected_seq = seq_of(out / "flight.ring", launch);
    }
    Json call;
    std::string verdict;
    std::uint64_t expected_seq = 0;
};

TEST_CASE(
    "Whichever launch of a thousand faults, on whichever stream and from whichever thread, it is named") {
    for (const Way way : {Way{1, 1}, {3, 1}, {2, 2}, {3, 3}}) {
        for (int launch = 1; launch <= kLaunches; launch += launch < 5 ? 1 : 47) {
            CAPTURE(way.streams, way.threads, launch);
            const Faulted faulted(way, launch);
            CAPTURE(faulted.call.dump());
            CHECK(faulted.call.at("kernel") == "kernel_" + std::to_string((launch - 1) % 5));
            CHECK(faulted.call.at("seq") == faulted.expected_seq);
            // Behind a graph the library's numbers are too small by that of the graph itself.
            if (launch <= kGraph) CHECK_FALSE(faulted.call.contains("likely"));
        }
    }
}

TEST_CASE("A launch within a graph is named, which was recorded when it was captured") {
    for (int launch = kGraph + 1; launch <= kGraph + 3; ++launch) {
        CAPTURE(launch);
        const Faulted faulted({2, 1}, launch);
        CHECK(faulted.call.at("kernel") == "kernel_" + std::to_string((launch - 1) % 5));
        CHECK(faulted.call.at("seq") == faulted.expected_seq);
    }
}

TEST_CASE("Behind a graph a launch is named among others of the same kernel") {
    const Faulted faulted({1, 1, 1}, kGraph + 100);
    CHECK(faulted.call.at("seq") == faulted.expected_seq);
}

TEST_CASE("Without a core dump launches that wait for their kernels tell which of a thousand it was") {
    const Variables blocking = {{"FAKE_CUDA_NO_COREDUMP", "1"}, {"CUDA_LAUNCH_BLOCKING", "1"}};
    for (int launch = 1; launch <= kGraph; launch += 83) {
        CAPTURE(launch);
        const Faulted faulted({3, 1}, launch, blocking, "failed");
        CHECK(faulted.call.at("seq") == faulted.expected_seq);
        CHECK(contains(faulted.verdict, "in that one"));
    }
    const Faulted asynchronous({3, 1}, 100, {{"FAKE_CUDA_NO_COREDUMP", "1"}}, "failed");
    CHECK(contains(asynchronous.verdict, "launched before"));
}

TEST_CASE("A launch that the driver refuses has no number") {
    const Faulted faulted({1, 1}, 100, {{"FAKE_CUDA_REFUSE", "kernel_4"}});
    CHECK(faulted.call.at("seq") == faulted.expected_seq);
}

}  // namespace
}  // namespace aoti_dbg::test
