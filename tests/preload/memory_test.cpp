// The allocation map of whole processes on the fake driver and its use in reports: memory from every driver
// call, refused memory, several threads and processes.
#include <nlohmann/json.hpp>
#include <sstream>

#include "serializer/allocation_map.hpp"
#include "tests/preload/cuda_models_fixture.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/places.hpp"
#include "triage/judge/memory_words.hpp"

namespace aoti_dbg::test::memory_test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using allocations::Way;
using Place = NearMemory::Place;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
const Variables kArmed = {{"AOTI_DBG_TRIAGE", "1"}};

Lines memory_ways(const std::string& how, const std::string& number = "0") {
    return {victim_path("memory_ways"), how, number};
}

/// Runs bare and with triage, which must behave alike, and keeps the output.
struct Run {
    explicit Run(const Lines& argv, const Variables& variables = kArmed)
        : bare(run_bare(argv)), watched(argv, variables) {
        CAPTURE(watched.outcome.err);
        CHECK(bare.exit_code == 0);
        CHECK(watched.outcome.out == bare.out);
        CHECK(watched.outcome.exit_code == bare.exit_code);
    }
    [[nodiscard]] AllocationMap map() const { return map_at(watched.out() / "allocations.map"); }
    static AllocationMap map_at(const fs::path& path) {
        const Result<AllocationMap> read = read_allocation_map(path.string());
        REQUIRE(read.ok());
        CHECK(read.value().notes.empty());
        return read.value();
    }
    /// The address that the victim prints under this name.
    [[nodiscard]] std::uint64_t at(const std::string& name) const {
        std::istringstream words(watched.outcome.err);
        for (std::string word; words >> word;) {
            std::string named;
            std::string address;
            if (word == "at" && words >> named >> address && named == name)
                return std::stoull(address, nullptr, 16);
        }
        FAIL("the victim does not say where " << name << " is");
        return 0;
    }
    [[nodiscard]] NearMemory near(const std::string& name, std::uint64_t offset = 0) const {
        return near_memory(map(), at(name) + offset, {}).front();
    }

    Outcome bare;
    Preloaded watched;
};

std::size_t living(const AllocationMap& map) {
    return static_cast<std::size_t>(
        std::count_if(map.slots.begin(), map.slots.end(),
                      [](const allocations::Slot& slot) { return slot.freed_ticks == 0; }));
}

TEST_CASE("Memory from every driver call is in the map, with its fate") {
    const Run run(memory_ways("all"));
    struct Expected {
        const char* name;
        std::uint64_t bytes;
        Way made;
        Way freed;
    };
    for (const Expected& expected : {Expected{"living", 2 * kMiB, Way::alloc, Way::unknown},
                                     {"freed", 3 * kMiB, Way::alloc, Way::free},
                                     {"managed", 4096, Way::alloc_managed, Way::unknown},
                                     {"pitched", 7 * 512, Way::alloc_pitch, Way::unknown},
                                     {"in_order", kMiB, Way::alloc_async, Way::unknown},
                                     {"freed_in_order", kMiB + 512, Way::alloc_async, Way::free_async},
                                     {"pooled", 5 * kMiB, Way::alloc_from_pool, Way::free_async},
                                     {"host", 8192, Way::alloc_host, Way::unknown},
                                     {"registered", 4096, Way::register_host, Way::unregister_host},
                                     {"of_context", 6 * kMiB, Way::alloc, Way::context_destroyed}}) {
        CAPTURE(expected.name);
        const AllocationMap map = run.map();
        const auto slot = std::find_if(map.slots.rbegin(), map.slots.rend(), [&](const auto& one) {
            return one.address == run.at(expected.name) && one.bytes == expected.bytes;
        });
        REQUIRE(slot != map.slots.rend());
        CHECK(slot->allocated_by == expected.made);
        CHECK(slot->freed_by == expected.freed);
        CHECK((slot->freed_ticks != 0) == (expected.freed != Way::unknown));
        const bool is_of_host = allocations::is_of_host(expected.made);
        CHECK(slot->device == (is_of_host ? allocations::kNoDevice : 0));
        CHECK(slot->thread != 0);
        CHECK((slot->stream != 0) == allocations::is_in_stream_order(expected.made));
    }
}

TEST_CASE("An address in freed memory is a use after free, and one behind living memory is reported so") {
    const Run run(memory_ways("all"));
    const NearMemory freed = run.near("freed", 4096);
    CHECK(near_text(freed) ==
          "in memory freed before or after the launch (3 MiB on cuda:0 by cuMemFree, 4 KiB after its start)");
    // This launch came after all of it.
    const LaunchMoment launch{UINT64_MAX, run.map().header.anchor_ticks};
    CHECK(near_memory(run.map(), run.at("freed"), launch).front().is_use_after_free());
    const NearMemory inside = run.near("living", 4096);
    CHECK(inside.place == Place::inside);
    const NearMemory pitched = run.near("pitched", 7 * 512);
    CHECK((pitched.place == Place::behind || pitched.place == Place::inside));
}

TEST_CASE("Adjacent pieces of one reservation count as one, and an unmapped piece as freed") {
    const Run run(memory_ways("pieces"));
    const NearMemory first = run.near("pieces", kMiB + 16);
    CHECK(first.place == Place::inside);
    CHECK(first.pieces == 2);
    CHECK(first.bytes == 2 * kMiB);
    CHECK(first.distance == kMiB + 16);
    CHECK(run.near("pieces", 2 * kMiB).freed_by == Way::unmap);
    CHECK(run.near("pieces", 2 * kMiB).place == Place::freed);
    const NearMemory behind = run.near("pieces", 4 * kMiB + 512);
    CHECK(behind.place == Place::behind);
    CHECK(behind.distance == 512);
    CHECK(behind.pieces == 1);
    CHECK(run.map().slots.size() == 4);
}

TEST_CASE("A refused allocation is in the map with the free memory, and with whether it succeeded later") {
    Variables small = kArmed;
    small["FAKE_CUDA_MEMORY"] = std::to_string(64 * kMiB);
    // The bare victim has all the memory, so it asks for more than that.
    const Run run(memory_ways("refused", "16384"), small);
    const AllocationMap map = run.map();
    REQUIRE(map.failures.size() == 2);
    CHECK(map.failures[0].way == Way::alloc);
    CHECK(map.failures[0].bytes == 16384 * kMiB);
    CHECK(map.failures[0].total_bytes == 64 * kMiB);
    CHECK(map.failures[0].free_bytes <= 64 * kMiB);
    CHECK(map.failures[1].way == Way::create);
    CHECK(map.failures[1].bytes == 2 * 16384 * kMiB);
    CHECK(map.failures[1].device == 0);
    CHECK(map.failures[0].satisfied_ticks == 0);
    CHECK(shortage_in(map, map.failures[0].thread, 0, 0)->bytes == map.failures[1].bytes);
}

TEST_CASE("Without triage there is no map, and with triage there is none unless memory is allocated") {
    for (const Variables& variables :
         {Variables{}, Variables{{"AOTI_DBG_HANG", "100"}}, Variables{{"AOTI_DBG_CHECK", "args"}}}) {
        const Run run(memory_ways("all"), variables);
        CHECK(Preloaded::files(run.watched.out(), "allocations").empty());
    }
    const Preloaded host(model_host({model_path("cpu")}), kArmed);
    CHECK(Preloaded::files(host.out(), "flight").size() == 1);
    CHECK(Preloaded::files(host.out(), "allocations").empty());
    Variables no_ring = kArmed;
    no_ring["AOTI_DBG_RING"] = "0";
    const Preloaded unringed(memory_ways("all"), no_ring);
    CHECK(Preloaded::files(unringed.out(), "allocations").empty());
}

TEST_CASE("A forked child has a map of its own, and its parent's has only the parent's memory") {
    const Run run(memory_ways("fork"));
    std::vector<fs::path> maps;
    for (const auto& entry : fs::recursive_directory_iterator(run.watched.out()))
        if (entry.path().filename() == "allocations.map") maps.push_back(entry.path());
    REQUIRE(maps.size() == 2);
    CHECK(Run::map_at(maps[0]).header.pid != Run::map_at(maps[1]).header.pid);
    CHECK(Run::map_at(maps[0]).slots.size() == 10);
    CHECK(Run::map_at(maps[1]).slots.size() == 10);
}

TEST_CASE("Threads that reuse each other's addresses leave exactly the living memory in the map") {
    const Run run(memory_ways("threads", "8"));
    const AllocationMap map = run.map();
    CHECK(map.header.made == 8 * 501);
    CHECK(living(map) == 8);
}

TEST_CASE("A full map keeps the newest entries and all living ones") {
    const Run run(memory_ways("churn", "40000"));
    const AllocationMap map = run.map();
    CHECK(map.header.made == 40001);
    CHECK(map.header.forgotten == 40001 - map.slots.size());
    CHECK(map.header.lost == 0);
    CHECK(living(map) == 1);
    CHECK(run.near("kept").place == Place::inside);
}

// ---- out of memory

/// A model's first run, whose op needs the given workspace.
struct Wanting {
    explicit Wanting(Variables variables) {
        const TempFolder folder;
        const fs::path out = folder.path() / "out";
        variables["AOTI_DBG_OUT"] = out.string();
        variables["FAKE_CUDA_MEMORY"] = std::to_string(64 * kMiB);
        const Lines command = {places::kTool, "run", "--triage", "--"};
        const Outcome run = run_bare(joined(command, cuda_models({}, {"stats"})), variables);
        CAPTURE(run.err);
        CHECK(run.exit_code == 96);
        CHECK(run.out == "a run failed\n");
        REQUIRE(fs::exists(out / "report.json"));
        report = Json::parse(read_text(out / "report.json"));
        text = read_text(out / "report.txt");
        verdict = report.at("verdict");
    }
    Json report;
    std::string text;
    std::string verdict;
};

TEST_CASE("An op that ran out of memory is reported as such, with the size") {
    const Wanting wanting({{"FAKE_TORCH_WORKSPACE", std::to_string(256 * kMiB)}});
    CHECK(wanting.report.at("class") == "oom");
    CHECK(contains(wanting.verdict, "out of device memory: 256 MiB requested on cuda:0 ("));
    CHECK(
        contains(wanting.verdict,
                 " of 64 MiB free), in aoti_torch_cuda_addmm_out (run 0, call 0); the program then exited"));
    CHECK(wanting.report.at("shortage").at("total") == 64 * kMiB);
    CHECK(wanting.report.at("shortage").at("allocations") >= 1);
    CHECK(contains(wanting.text, "\n  memory         256 MiB requested on cuda:0"));
}

TEST_CASE("A refusal is no out-of-memory error if a smaller cache then made room") {
    const Wanting retried({{"FAKE_TORCH_WORKSPACE", std::to_string(40 * kMiB)},
                           {"FAKE_TORCH_CACHED", std::to_string(40 * kMiB)},
                           {"FAKE_TORCH_FAIL", "1"}});
    CHECK(retried.report.at("class") == "host");
    CHECK_FALSE(retried.report.contains("shortage"));
    CHECK(contains(retried.verdict, "aoti_torch_cuda_addmm_out (run 0, call 0) failed"));
}

TEST_CASE("A refusal is an out-of-memory error if giving up the cache was not enough") {
    const Wanting wanting({{"FAKE_TORCH_WORKSPACE", std::to_string(80 * kMiB)},
                           {"FAKE_TORCH_CACHED", std::to_string(40 * kMiB)}});
    CHECK(wanting.report.at("class") == "oom");
    CHECK(contains(wanting.verdict, "80 MiB requested on cuda:0"));
}

/// `aoti-dbg run --triage` of a victim that is refused memory outside of any call and ends by `status`.
Json report_of_refused(const std::string& status) {
    const TempFolder folder;
    const fs::path out = folder.path() / "out";
    Lines command = {places::kTool, "run", "--triage", "--"};
    const Outcome run = run_bare(joined(command, {victim_path("memory_ways"), "refused_at_end", status}),
                                 {{"AOTI_DBG_OUT", out.string()}});
    CAPTURE(run.err);
    CHECK(run.exit_code == std::stoi(status));
    const fs::path report = out / "report.json";
    return fs::exists(report) ? Json::parse(read_text(report)) : Json();
}

TEST_CASE("A failed exit right after a refusal is an out-of-memory error, and a normal exit is not") {
    const Json report = report_of_refused("3");
    REQUIRE(report.is_object());
    CHECK(report.at("class") == "oom");
    CHECK(contains(report.at("verdict"), "out of device memory: 16 GiB requested on cuda:0 ("));
    CHECK(contains(report.at("verdict"),
                   " of 8 GiB free), outside any call; the program then exited with status 3"));
    CHECK(report_of_refused("0").is_null());
}

}  // namespace
}  // namespace aoti_dbg::test::memory_test
