// The name of a tensor by the place in a run where it is created.
#include "model/allocation_names.hpp"

#include "tests/support/catch.hpp"

namespace aoti_dbg::allocation_names_test {
namespace {

using Sizes = std::vector<std::int64_t>;

Allocation allocation(const std::string& name, const std::string& sizes, std::uint32_t before) {
    Allocation made;
    made.name = name;
    made.sizes = sizes;
    made.before = before;
    return made;
}

/// Three calls in sequence.
WrapperInfo three_calls() {
    WrapperInfo info;
    RunBody& body = info.run;
    body.sites.resize(3);
    for (std::uint32_t site = 0; site < 3; ++site)
        body.flow.push_back({FlowStep::Kind::call, site});
    body.allocations = {allocation("buf0", "{8L, 16L}", 0), allocation("buf1", "{s77, 4L}", 1),
                        allocation("buf2", "{}", 1), allocation("buf3", "{8L}", 3)};
    return info;
}

std::string name(const AllocationNames& names, std::uint32_t behind, std::uint32_t nth, const Sizes& sizes) {
    const NamedTensor* const found = names.find(behind, nth, sizes);
    return found == nullptr ? "none" : found->name;
}

TEST_CASE("A tensor is named by the call before it and its number since then") {
    const AllocationNames names(three_calls());
    CHECK(name(names, kNone, 0, {8, 16}) == "buf0");
    CHECK(name(names, 0, 0, {7, 4}) == "buf1");
    CHECK(name(names, 0, 1, {}) == "buf2");
    CHECK(name(names, 2, 0, {8}) == "buf3");
}

TEST_CASE("Tensors that the source does not have at that place have no name") {
    const AllocationNames names(three_calls());
    CHECK(name(names, kNone, 0, {8, 17}) == "none");
    CHECK(name(names, kNone, 0, {8}) == "none");
    CHECK(name(names, 0, 0, {7, 5}) == "none");
    CHECK(name(names, 2, 1, {8}) == "none");
    CHECK(name(AllocationNames(WrapperInfo()), kNone, 0, {}) == "none");
    // A launch created it for itself: in the source, a call comes before buf3.
    CHECK(name(names, 1, 0, {8}) == "none");
    CHECK(name(names, 0, 2, {8}) == "none");
}

TEST_CASE("Parts of a pool are not tensors of their own, and a name that takes memory over is reported") {
    WrapperInfo info = three_calls();
    info.run.allocations[1].pool = "pool0";
    info.run.shared_memory = {{"buf4", "buf0", SharedMemory::How::moved, 1}};
    CHECK(name(AllocationNames(info), kNone, 0, {8, 16}) == "buf0 (later buf4)");
    CHECK(name(AllocationNames(info), 0, 0, {}) == "buf2");
    info.run.shared_memory.push_back({"buf5", "buf4", SharedMemory::How::view, 2});
    CHECK(name(AllocationNames(info), kNone, 0, {8, 16}) == "buf0 (.. buf5)");
}

TEST_CASE("Memory that moves to another handle or is returned as a view has no single owner") {
    WrapperInfo info = three_calls();
    const auto has_one_owner = [&info] {
        return AllocationNames(info).find(kNone, 0, Sizes{8, 16})->has_one_owner;
    };
    CHECK(has_one_owner());
    info.run.shared_memory = {{"buf4", "buf0", SharedMemory::How::moved, 1}};
    CHECK(has_one_owner());
    info.run.outputs = {{"buf4", {}}};
    CHECK(has_one_owner());
    info.run.outputs.front().view.emplace();
    CHECK_FALSE(has_one_owner());
    info.run.outputs.clear();
    info.run.shared_memory.push_back({"buf5", "buf4", SharedMemory::How::view, 2});
    CHECK_FALSE(has_one_owner());
    info.run.shared_memory = {{"buf7", "buf6", SharedMemory::How::moved, 1}};
    CHECK(AllocationNames(info).returned("buf6")->name == "buf6 (later buf7)");
    CHECK(AllocationNames(info).returned("buf0")->name == "buf0");
    CHECK(AllocationNames(info).returned("buf9") == nullptr);
}

TEST_CASE("Where a call or a tensor may be skipped or repeated nothing is named, apart from a copied input") {
    WrapperInfo info = three_calls();
    info.run.sites[2].region = 0;
    CHECK(name(AllocationNames(info), kNone, 0, {8, 16}) == "none");
    info.run.sites[2].kind = SiteKind::copy;
    CHECK(name(AllocationNames(info), kNone, 0, {8, 16}) == "buf0");
    CHECK(name(AllocationNames(info), 1, 0, {8}) == "buf3");  // the copy is invisible
    info.run.allocations[3].region = 0;
    CHECK(name(AllocationNames(info), kNone, 0, {8, 16}) == "none");
}

TEST_CASE("Where a run may fold constants nothing is named") {
    WrapperInfo info = three_calls();
    info.folding.allocations = {allocation("buf0", "{8L, 16L}", 0)};
    CHECK(name(AllocationNames(info), kNone, 0, {8, 16}) == "none");
}

/// "buf0 before 1, buf2 before 3": the frees of a run, in order.
std::string freed(const WrapperInfo& info, const std::vector<std::string>& all) {
    const AllocationNames names(info);
    std::string text;
    for (const FreedTensor& end : names.freed())
        for (const std::string& one : all)
            if (const NamedTensor* tensor = names.returned(one);
                tensor != nullptr && tensor->number == end.tensor)
                text += (text.empty() ? "" : ", ") + one + " before " + std::to_string(end.before);
    return text;
}

TEST_CASE("A run frees a tensor where the source does, and all but the outputs when it ends") {
    WrapperInfo info = three_calls();
    const std::vector<std::string> all = {"buf0", "buf1", "buf2", "buf3", "buf5"};
    Argument returned;
    returned.tensors = {{"buf5", {}}};
    info.run.sites[1].arguments = {returned};
    CHECK(freed(info, all) == "buf0 before 3, buf1 before 3, buf2 before 3, buf3 before 3, buf5 before 3");
    info.run.frees = {{"buf2", 2}, {"buf5", 2}};
    info.run.outputs = {{"buf3", {}}};
    CHECK(freed(info, all) == "buf2 before 2, buf5 before 2, buf0 before 3, buf1 before 3");
    // The free counts under whatever name the memory has by then.
    info.run.shared_memory = {{"buf6", "buf0", SharedMemory::How::moved, 1}};
    info.run.frees.push_back({"buf6", 1});
    CHECK(freed(info, all) == "buf0 before 1, buf2 before 2, buf5 before 2, buf1 before 3");
    info.run.outputs.push_back({"buf6", {}});
    info.run.frees.pop_back();
    CHECK(freed(info, all) == "buf2 before 2, buf5 before 2, buf1 before 3");
    // Memory with several owners has no known end.
    info.run.shared_memory.push_back({"buf7", "buf1", SharedMemory::How::view, 2});
    CHECK(freed(info, all) == "buf2 before 2, buf5 before 2");
    CHECK(AllocationNames(info).returned("buf1")->number == kNone);
}

TEST_CASE("No end is known if the source is cut, does not name its outputs, or has branches") {
    const auto knows_ends = [](const WrapperInfo& info) {
        const AllocationNames names(info);
        CHECK(names.freed().empty() == (names.numbers() == 0));
        return names.numbers() != 0;
    };
    WrapperInfo info = three_calls();
    CHECK(knows_ends(info));
    info.is_complete = false;
    CHECK_FALSE(knows_ends(info));
    CHECK(AllocationNames(info).find(kNone, 0, Sizes{8, 16})->number == kNone);
    info = three_calls();
    info.output_names = {"output0", "output1"};
    info.run.outputs = {{"buf3", {}}};
    CHECK_FALSE(knows_ends(info));
    info.run.outputs = {{"buf3", {}}, {"", {}}};
    CHECK_FALSE(knows_ends(info));
    info.run.outputs = {{"buf3", {}}, {"buf2", {}}};
    CHECK(knows_ends(info));
    info.run.sites[2].region = 0;
    CHECK_FALSE(knows_ends(info));
}

TEST_CASE("Inputs and constants do not belong to the run") {
    WrapperInfo info = three_calls();
    Argument argument;
    argument.tensors = {{"arg0_1", {}}, {"l1_weight", {}}, {"buf9", {}}};
    info.run.sites[0].arguments = {argument};
    CHECK(AllocationNames(info).numbers() == 7);
    info.inputs = {"arg0_1"};
    info.constants.emplace_back().name = "l1_weight";
    CHECK(AllocationNames(info).numbers() == 5);
}

TEST_CASE("A run ends after the last call that is seen") {
    WrapperInfo info = three_calls();
    const auto is_last = [&info](std::uint32_t behind) { return AllocationNames(info).is_last(behind); };
    CHECK_FALSE(is_last(kNone));
    CHECK_FALSE(is_last(1));
    CHECK(is_last(2));
    CHECK_FALSE(is_last(3));
    info.run.sites[2].kind = SiteKind::copy;
    CHECK(is_last(1));
}

}  // namespace
}  // namespace aoti_dbg::allocation_names_test
