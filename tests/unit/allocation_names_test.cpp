// Which name a tensor gets that is made at a place of a run.
#include "model/allocation_names.hpp"

#include "tests/support/catch.hpp"

namespace aoti_dbg {
namespace {

using Sizes = std::vector<std::int64_t>;

Allocation allocation(const std::string& name, const std::string& sizes, std::uint32_t before) {
    Allocation made;
    made.name = name;
    made.sizes = sizes;
    made.before = before;
    return made;
}

/// Three calls one after the other.
RunBody three_calls() {
    RunBody body;
    body.sites.resize(3);
    for (std::uint32_t site = 0; site < 3; ++site)
        body.flow.push_back({FlowStep::Kind::call, site});
    body.allocations = {allocation("buf0", "{8L, 16L}", 0), allocation("buf1", "{s77, 4L}", 1),
                        allocation("buf2", "{}", 1), allocation("buf3", "{8L}", 3)};
    return body;
}

std::string name(const AllocationNames& names, std::uint32_t behind, std::uint32_t nth, const Sizes& sizes) {
    const std::string* const found = names.find(behind, nth, sizes);
    return found == nullptr ? "none" : *found;
}

TEST_CASE("A tensor is named by the call before it and its number since then") {
    const AllocationNames names(three_calls());
    CHECK(name(names, kNone, 0, {8, 16}) == "buf0");
    CHECK(name(names, 0, 0, {7, 4}) == "buf1");
    CHECK(name(names, 0, 1, {}) == "buf2");
    CHECK(name(names, 1, 0, {8}) == "buf3");  // nothing is made between 1 and 2
    CHECK(name(names, 2, 0, {8}) == "buf3");
}

TEST_CASE("What the source does not have at that place has no name") {
    const AllocationNames names(three_calls());
    CHECK(name(names, kNone, 0, {8, 17}) == "none");
    CHECK(name(names, kNone, 0, {8}) == "none");
    CHECK(name(names, 0, 0, {7, 5}) == "none");
    CHECK(name(names, 2, 1, {8}) == "none");
    CHECK(name(names, 3, 0, {8}) == "none");
    CHECK(name(AllocationNames(RunBody()), kNone, 0, {}) == "none");
}

TEST_CASE("Parts of a pool are no tensors of their own, and the name that takes memory over is told") {
    RunBody body = three_calls();
    body.allocations[1].pool = "pool0";
    body.shared_memory = {{"buf4", "buf0", SharedMemory::How::moved, 1}};
    CHECK(name(AllocationNames(body), kNone, 0, {8, 16}) == "buf0 (later buf4)");
    CHECK(name(AllocationNames(body), 0, 0, {}) == "buf2");
    body.shared_memory.push_back({"buf5", "buf4", SharedMemory::How::view, 2});
    CHECK(name(AllocationNames(body), kNone, 0, {8, 16}) == "buf0 (.. buf5)");
}

TEST_CASE("Where a call may be left out or repeated nothing is named, a copy of an input aside") {
    RunBody body = three_calls();
    body.flow.insert(body.flow.begin(), {FlowStep::Kind::branch, 0});
    body.flow.insert(body.flow.begin() + 2, {FlowStep::Kind::end_branch, 0});
    CHECK(name(AllocationNames(body), kNone, 0, {8, 16}) == "none");
    body.sites[0].kind = CallKind::copy;
    CHECK(name(AllocationNames(body), kNone, 0, {8, 16}) == "buf0");
    body.flow.front().kind = FlowStep::Kind::loop;
    body.sites[0].kind = CallKind::triton;
    CHECK(name(AllocationNames(body), kNone, 0, {8, 16}) == "none");
}

}  // namespace
}  // namespace aoti_dbg
