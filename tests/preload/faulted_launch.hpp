// A run of `numbered_launches` under `aoti-dbg run --triage` in which one launch faults: its report and the
// number of that launch. Shared by the tests of launch identification.
#pragma once

#include <nlohmann/json.hpp>

#include "serializer/flight_ring_reader.hpp"
#include "tests/preload/preload_support.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/places.hpp"

namespace aoti_dbg::test {

constexpr int kLaunches = 1000;
constexpr int kGraph = kLaunches / 2;  // the launches before it are not behind a graph

struct Way {
    int streams;
    int threads;
    int names = 5;
};

inline ring::Contents ring_of(const std::filesystem::path& out) {
    const Result<ring::Contents> read = ring::read_flight_ring((out / "flight.ring").string());
    REQUIRE(read.ok());
    return read.value();
}

/// The ring's seq of a launch, counted from 1 without those that the driver refused.
inline std::uint64_t seq_of(const ring::Contents& ring, int launch) {
    constexpr int kIllegalAddress = 700;
    for (const ring::Call& call : ring::merged_calls(ring)) {
        const ring::Record& record = *call.record;
        const bool was_made = record.result == 0 || record.result == kIllegalAddress;
        if (record.kind == ring::CallKind::launch && was_made && --launch == 0) return record.seq;
    }
    FAIL("the ring has lost it");
    return 0;
}

struct FaultedLaunch {
    FaultedLaunch(const Way& way, int launch, Variables variables = {}, const Lines& flags = {}) {
        const TempFolder folder;
        const std::filesystem::path out = folder.path() / "out";
        const Lines argv =
            joined(joined({places::kTool, "run", "--triage", "--scope", "all"}, flags),
                   {"--", victim_path("numbered_launches"), std::to_string(kLaunches),
                    std::to_string(way.streams), std::to_string(way.threads), std::to_string(way.names)});
        variables["AOTI_DBG_OUT"] = out.string();
        variables["FAKE_CUDA_FAIL_AT"] = std::to_string(launch);
        const Outcome run = run_bare(argv, variables);
        CAPTURE(run.err);
        CHECK(run.out == "end: 700\n");
        CHECK(run.exit_code == 0);
        REQUIRE(std::filesystem::exists(out / "report.json"));
        report = nlohmann::json::parse(read_text(out / "report.json"));
        verdict = report.at("verdict");
        ring = ring_of(out);
        expected_seq = seq_of(ring, launch);
        err = run.err;
    }
    nlohmann::json report;
    std::string verdict;
    std::string err;
    ring::Contents ring;
    std::uint64_t expected_seq = 0;
};

}  // namespace aoti_dbg::test
