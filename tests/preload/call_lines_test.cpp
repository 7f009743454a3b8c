// The lines of calls for models without sources: a CUDA model whose launches go through helpers, one that the
// compiler inlined and one that it did not.
#include <map>
#include <nlohmann/json.hpp>

#include "serializer/flight_ring_reader.hpp"
#include "tests/preload/cuda_models_fixture.hpp"
#include "tests/preload/stats_records.hpp"
#include "tests/support/catch.hpp"

namespace aoti_dbg::test::call_lines_test {
namespace {

using Json = nlohmann::json;

/// The sites of a recording, by kernel.
std::map<std::string, Json> sites_of(const Preloaded& run) {
    std::map<std::string, Json> sites;
    for (const std::string& line : event_lines(run.out())) {
        const Json event = Json::parse(line);
        if (event.at("event") == "site") sites.emplace(event.at("kernel"), event);
    }
    return sites;
}

/// The lines in the ring, by kernel. 0: none.
std::map<std::string, std::uint32_t> lines_in_ring(const Preloaded& run) {
    const Result<ring::Contents> ring = ring::read_flight_ring((run.out() / "flight.ring").string());
    REQUIRE(ring.ok());
    std::map<std::string, std::uint32_t> lines;
    for (const ring::Call& call : ring::merged_calls(ring.value()))
        lines[std::string(ring.value().name(call.record->name))] = call.thread->line_of(*call.record);
    return lines;
}

/// The text of a line of a file, from 1. Empty if there is none.
std::string line_of(const std::string& path, std::uint64_t number) {
    std::istringstream text(read_text(path));
    std::string line;
    for (std::uint64_t i = 0; i < number; ++i)
        if (!std::getline(text, line)) return {};
    return line;
}

Preloaded measured(const std::string& variant) {
    return Preloaded(cuda_models({"--runs", "2"}, {variant}), {{"AOTI_DBG_LEVEL", "2"}});
}

}  // namespace

TEST_CASE("Without a source, calls and launches have the line of the run's code that makes them") {
    const Preloaded run = measured("stats_lined");
    REQUIRE(run.outcome.exit_code == 0);
    const std::map<std::string, Json> sites = sites_of(run);
    const std::map<std::string, std::uint32_t> in_ring = lines_in_ring(run);
    REQUIRE(sites.size() == kCudaRun.size());
    for (const auto& [kernel, site] : sites) {
        CAPTURE(kernel, site.dump());
        const auto line = site.at("line").get<std::uint64_t>();
        const std::string called = (site.at("kind") == "triton" ? "    call_" : "CODE_CHECK(") + kernel;
        CHECK(contains(line_of(site.at("source"), line), called));
        CHECK(in_ring.at(kernel) == line);
    }
    CHECK(in_ring.at("run of cstats_lined.wrapper.so") == 0);
}

TEST_CASE("Models with sources, and libraries without debug information, record no lines of this kind") {
    for (const std::string variant : {"stats", "stats_bare"}) {
        CAPTURE(variant);
        const Preloaded run = measured(variant);
        REQUIRE(run.outcome.exit_code == 0);
        for (const auto& [kernel, site] : sites_of(run)) {
            CHECK_FALSE(site.contains("source"));
            CHECK((site.at("line") == 0) == (variant == "stats_bare"));
        }
        for (const auto& [kernel, line] : lines_in_ring(run))
            CHECK(line == 0);
    }
}

TEST_CASE("A program does not notice that its calls have lines") {
    const Lines argv = cuda_models({"--threads", "2", "--runs", "10"}, {"stats_lined", "stats"});
    const Outcome bare = run_bare(argv);
    for (const char* level : {"1", "2", "3"}) {
        const Preloaded run(argv, {{"AOTI_DBG_LEVEL", level}});
        CHECK(run.outcome.out == bare.out);
        CHECK(run.outcome.exit_code == bare.exit_code);
    }
}

}  // namespace aoti_dbg::test::call_lines_test
