// The pool of slots: its exhaustion, and models that come and go. This is a program of its own because it
// uses up the pool.
#include <set>
#include <string>

#include "tests/support/catch.hpp"
#include "tests/unit/shim_fixture.hpp"

namespace aoti_dbg::test::slots_test {
namespace {

int one() {
    return 1;
}
int two() {
    return 2;
}

Slot slot_of(int (*real)(), const std::string& name, std::uint16_t model) {
    core();
    Slot slot;
    slot.real = reinterpret_cast<void*>(real);
    slot.name = intern_name(name, {});
    slot.model = model;
    slot.kind = ring::CallKind::cpp_kernel;
    return slot;
}

int call(void* stub) {
    return reinterpret_cast<int (*)()>(stub)();
}

}  // namespace

TEST_CASE("The same name in two models has two stubs, each before its own function") {
    void* first = stub_for(slot_of(one, "cpp_fused_same_0", 1));
    void* second = stub_for(slot_of(two, "cpp_fused_same_0", 2));
    REQUIRE(first != second);
    CHECK(call(first) == 1);
    CHECK(call(second) == 2);
}

TEST_CASE("An op that gives a tensor other memory is known by its name") {
    const auto moves = [](const std::string& name) {
        Slot slot = slot_of(one, name, ring::kNoModel);
        slot.shim = find_shim(name);
        REQUIRE(slot.shim != nullptr);
        REQUIRE(stub_for(slot) != nullptr);
        std::uint64_t number = 0;
        while (slot_at(number).name != slot.name)
            ++number;
        return slot_at(number).moves_tensors;
    };
    CHECK(moves("aoti_torch_cpu_set__source_Tensor"));
    CHECK(moves("aoti_torch_cuda_resize_"));
    CHECK(moves("aoti_torch_cuda_resize_as_"));
    CHECK_FALSE(moves("aoti_torch_cuda_addmm_out"));
    CHECK_FALSE(moves("aoti_torch_cpu_fill__Scalar"));
}

TEST_CASE("A full pool leaves functions unhooked, and retired slots are reused") {
    std::set<void*> stubs;
    std::uint32_t made = 0;
    while (void* stub = stub_for(slot_of(one, "filler_" + std::to_string(made), 7))) {
        stubs.insert(stub);
        ++made;
        REQUIRE(made <= kSlots);
    }
    CHECK(stubs.size() == made);
    CHECK(made > kSlots - 10);
    CHECK(call(*stubs.rbegin()) == 1);
    CHECK(stub_for(slot_of(two, "one_more", 8)) == nullptr);
    // An existing stub is still found.
    CHECK(stub_for(slot_of(one, "filler_0", 7)) != nullptr);

    retire_slots_of(7);
    void* reused = stub_for(slot_of(two, "one_more", 8));
    REQUIRE(reused != nullptr);
    CHECK(stubs.count(reused) == 1);
    CHECK(call(reused) == 2);
    CHECK(core().printed().find("before_launch: one_more") != std::string::npos);
}

}  // namespace aoti_dbg::test::slots_test
