// The tensor map of whole processes on the fake driver: what each run of a model received, created and freed,
// by the names of the wrapper source.
#include "serializer/tensor_map.hpp"

#include <cstring>
#include <map>

#include "tests/preload/cuda_models_fixture.hpp"
#include "tests/support/catch.hpp"

namespace aoti_dbg::test::tensor_map_test {
namespace {

namespace fs = std::filesystem;
using tensors::End;
using tensors::Origin;
using tensors::Slot;

const Variables kArmed = {{"AOTI_DBG_TRIAGE", "1"}};

TensorMap map_in(const fs::path& out) {
    const Result<TensorMap> map = parse_tensor_map(read_text(out / "tensors.map"));
    REQUIRE(map.ok());
    CHECK(map.value().notes.empty());
    return map.value();
}

std::string name_of(const Slot& slot) {
    return {slot.name, strnlen(slot.name, sizeof slot.name)};
}

/// The known facts of each tensor of a run, in order, such as "made buf0 512 freed".
Lines facts_of(const TensorMap& map, std::uint32_t run) {
    Lines lines;
    for (const Slot& slot : map.slots) {
        if (slot.run != run) continue;
        std::string line = slot.origin == Origin::input  ? "input "
                           : slot.origin == Origin::made ? "made "
                                                         : "returned ";
        line += name_of(slot) + " " + std::to_string(slot.bytes);
        if (slot.ended == slot.number) line += slot.end == End::freed ? " freed" : " outlived";
        lines.push_back(line);
    }
    return lines;
}

/// Runs bare and with triage, which must behave alike.
struct Armed : Preloaded {
    explicit Armed(const Lines& victim, const Variables& variables = kArmed) : Preloaded(victim, variables) {
        const Outcome bare = run_bare(victim);
        CAPTURE(outcome.err);
        CHECK(bare.exit_code == 0);
        CHECK(outcome.out == bare.out);
        CHECK(outcome.exit_code == bare.exit_code);
    }
};

TEST_CASE("Each tensor of a run is in the map under its name in the wrapper source") {
    const Armed run(cuda_models({"--runs", "3"}, {"stats"}));
    const TensorMap map = map_in(run.out());
    const Lines made = {"made buf0 (later buf1) 512 freed",
                        "made buf2 128 outlived",
                        "made buf3 1024 outlived",
                        "made buf4 512 freed",
                        "made buf5 512 freed",
                        "made buf6 512"};  // a view of it is an output
    CHECK(facts_of(map, 0) == joined({"input arg2_1 512"}, made));
    for (std::uint32_t number = 1; number < 3; ++number)
        CHECK(facts_of(map, number) == joined({"input arg2_1 512"}, made));
    CHECK(map.header.made == map.slots.size());
}

TEST_CASE("A tensor is noted between the calls that surround its creation") {
    const Armed run(cuda_models({}, {"stats"}));
    const TensorMap map = map_in(run.out());
    REQUIRE(map.slots.size() == 7);
    std::uint64_t last = 0;
    for (const Slot& slot : map.slots) {
        CHECK(slot.created_sequence >= last);
        last = slot.created_sequence;
        if (slot.ended == slot.number) CHECK(slot.end_sequence > slot.created_sequence);
        CHECK(slot.address != 0);
    }
    // buf0 is created after the start of the run and before its first call.
    CHECK(map.slots[1].created_sequence == map.slots[0].created_sequence);
    CHECK(map.slots[2].created_sequence > map.slots[1].created_sequence);
}

TEST_CASE("Tensors that an op returns end where the source frees them, or at the end of the run") {
    const Armed run(cuda_models({"--runs", "3"}, {"stats_sorting"}));
    const TensorMap map = map_in(run.out());
    for (std::uint32_t number = 0; number < 3; ++number) {
        CAPTURE(number);
        CHECK(facts_of(map, number) ==
              Lines{"input arg2_1 512", "made buf0 (later buf1) 512 freed", "made buf2 128 outlived",
                    "made buf3 1024 outlived", "made buf4 512 freed", "returned buf7 512 freed",
                    "returned buf8 1024 freed", "made buf5 512 freed", "made buf6 512"});
        std::map<std::string, Slot> slots;
        for (const Slot& slot : map.slots)
            if (slot.run == number) slots[name_of(slot)] = slot;
        // They end after the sort, after the addition and after the last call.
        CHECK(slots["buf7"].end_sequence == slots["buf7"].created_sequence);
        CHECK(slots["buf4"].end_sequence == slots["buf7"].created_sequence + 1);
        CHECK(slots["buf8"].end_sequence == slots["buf4"].end_sequence + 1);
    }
}

TEST_CASE("A run that fails has no outputs") {
    const Lines victim = cuda_models({}, {"stats_sorting"});
    const Preloaded run(victim, {{"AOTI_DBG_TRIAGE", "1"}, {"FAKE_CUDA_REFUSE", "add_kernel"}});
    CAPTURE(run.outcome.err);
    CHECK(run.outcome.exit_code != 0);
    CHECK(facts_of(map_in(run.out()), 0) ==
          Lines{"input arg2_1 512", "made buf0 (later buf1) 512 freed", "made buf2 128 freed",
                "made buf3 1024 freed", "made buf4 512 freed", "returned buf7 512 freed",
                "returned buf8 1024 freed", "made buf5 512 freed", "made buf6 512"});
}

TEST_CASE("Concurrent threads and models get maps of their own runs") {
    const Armed run(
        cuda_models({"--runs", "20", "--threads", "4", "--streams", "nonblocking"}, {"stats", "stats"}));
    const TensorMap map = map_in(run.out());
    std::map<std::uint32_t, Lines> made;
    for (const Slot& slot : map.slots)
        if (slot.origin == Origin::made) made[slot.run].push_back(name_of(slot));
    CHECK(made.size() == 80);
    for (const auto& [number, names] : made) {
        CAPTURE(number);
        CHECK(names == Lines{"buf0 (later buf1)", "buf2", "buf3", "buf4", "buf5", "buf6"});
    }
}

TEST_CASE("A tensor map needs triage, checks and a model on a device") {
    for (const Variables& variables :
         {Variables{{"AOTI_DBG_CHECK", "args"}}, Variables{{"AOTI_DBG_HANG", "100"}},
          Variables{{"AOTI_DBG_TRIAGE", "1"}, {"AOTI_DBG_CHECK", "none"}, {"AOTI_DBG_LEVEL", "0"}},
          Variables{{"AOTI_DBG_TRIAGE", "1"}, {"AOTI_DBG_RING", "0"}}}) {
        const Armed run(cuda_models({}, {"stats"}), variables);
        CHECK(Preloaded::files(run.out(), "tensors.").empty());
    }
    const Preloaded host(model_host({model_path("cpu")}), kArmed);
    CHECK(Preloaded::files(host.out(), "flight").size() == 1);
    CHECK(Preloaded::files(host.out(), "tensors.").empty());
}

TEST_CASE("A model without its source has its tensors in the map, without names") {
    const Armed run(cuda_models({}, {"stats_bare"}));
    const TensorMap map = map_in(run.out());
    CHECK(map.slots.size() == 7);
    for (const Slot& slot : map.slots)
        if (slot.origin == Origin::made) CHECK(name_of(slot).empty());
}

}  // namespace
}  // namespace aoti_dbg::test::tensor_map_test
