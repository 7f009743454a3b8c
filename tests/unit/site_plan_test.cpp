// The plans of call sites: what a call does with memory that no earlier call has written, which constants
// stay as they are, and which layouts.
#include "shim/tensors/site_plan.hpp"

#include <string>
#include <utility>

#include "tests/support/catch.hpp"

namespace aoti_dbg::site_plan_test {
namespace {

CallSite kernel_on(std::string tensor, std::string parameter, SiteKind kind = SiteKind::cpp) {
    Argument argument;
    argument.kind = ArgumentKind::tensor;
    argument.role = Role::updates;
    argument.parameter = std::move(parameter);
    argument.tensors.push_back({std::move(tensor), {}});
    CallSite site;
    site.kind = kind;
    site.name = "cpp_fused_0";
    site.arguments.push_back(std::move(argument));
    return site;
}

Role role_at(const std::vector<SitePlan>& plans, std::size_t site) {
    const PlannedArgument* const argument = plans[site].at(0);
    REQUIRE(argument != nullptr);
    return argument->role;
}

/// buf2 is allocated, and buf3 is its name from the first site on.
WrapperInfo with_new_memory() {
    WrapperInfo info;
    info.inputs = {"arg0_1"};
    Allocation allocation;
    allocation.name = "buf2";
    info.run.allocations.push_back(allocation);
    info.run.shared_memory.push_back({"buf3", "buf2", SharedMemory::How::moved, 0});
    return info;
}

TEST_CASE("A generated kernel only writes in_out_ptr memory that no call has written") {
    WrapperInfo info = with_new_memory();
    info.run.sites = {kernel_on("buf3", "in_out_ptr0"), kernel_on("buf3", "in_out_ptr0"),
                      kernel_on("arg0_1", "in_out_ptr0")};
    const std::vector<SitePlan> plans = make_site_plans(info, {});
    CHECK(role_at(plans, 0) == Role::writes);
    CHECK(role_at(plans, 1) == Role::updates);
    CHECK(role_at(plans, 2) == Role::updates);
}

TEST_CASE("Any other update of new memory reads it") {
    WrapperInfo info = with_new_memory();
    info.run.sites = {kernel_on("buf3", "self", SiteKind::proxy)};
    CHECK(role_at(make_site_plans(info, {}), 0) == Role::updates);
}

TEST_CASE("In a loop an earlier pass may have written the memory") {
    WrapperInfo info = with_new_memory();
    info.run.sites = {kernel_on("buf3", "in_out_ptr0")};
    info.run.sites[0].region = 0;
    CHECK(role_at(make_site_plans(info, {}), 0) == Role::updates);
}

TEST_CASE("In a function that a run calls several times, a name may mean new memory") {
    WrapperInfo info = with_new_memory();
    info.run.sites = {kernel_on("buf3", "in_ptr0"), kernel_on("buf3", "in_ptr0")};
    info.run.sites[0].may_repeat = true;
    const std::vector<SitePlan> plans = make_site_plans(info, {});
    CHECK(plans[0].at(0)->makes_anew);
    CHECK_FALSE(plans[1].at(0)->makes_anew);
}

TEST_CASE("A constant that any call writes is not fixed, not even for earlier calls") {
    WrapperInfo info;
    for (const char* const name : {"weight", "buffer"})
        info.constants.emplace_back().name = name;
    info.run.sites = {kernel_on("weight", "in_ptr0"), kernel_on("buffer", "in_ptr0"),
                      kernel_on("buffer", "in_out_ptr0")};
    for (const std::size_t reading : {0U, 1U})
        info.run.sites[reading].arguments[0].role = Role::reads;
    const std::vector<SitePlan> plans = make_site_plans(info, {});
    CHECK(plans[0].at(0)->is_fixed);
    CHECK(plans[1].at(0)->is_constant);
    CHECK_FALSE(plans[1].at(0)->is_fixed);
    CHECK_FALSE(plans[2].at(0)->is_fixed);
}

/// buf0 is allocated with that size, and the first of two calls gets it.
WrapperInfo with_allocated(std::string size) {
    WrapperInfo info;
    Allocation allocation;
    allocation.name = "buf0";
    allocation.dtype = "float32";
    allocation.device = "cuda";
    allocation.sizes = "{" + size + "}";
    allocation.strides = "{1L}";
    info.run.allocations.push_back(allocation);
    info.run.sites = {kernel_on("buf0", "out_ptr0", SiteKind::triton),
                      kernel_on("buf1", "in_ptr0", SiteKind::triton)};
    return info;
}

std::uint32_t layout_at(const WrapperInfo& info, std::size_t site) {
    const std::vector<SitePlan> plans = make_site_plans(info, {});
    const PlannedArgument* const argument = plans[site].at(0);
    REQUIRE(argument != nullptr);
    return argument->layout;
}

TEST_CASE("A layout is fixed if the source allocates it with numbers") {
    CHECK(layout_at(with_allocated("8L"), 0) != kNone);
    CHECK(layout_at(with_allocated("8L"), 1) == kNone);
    CHECK(layout_at(with_allocated("s77"), 0) == kNone);
    CHECK(layout_at(with_allocated(""), 0) != kNone);  // a scalar
    WrapperInfo without_sizes = with_allocated("8L");
    without_sizes.run.allocations[0].sizes.clear();
    CHECK(layout_at(without_sizes, 0) == kNone);
}

TEST_CASE("A layout is fixed under another name of the memory, unless a view has other sizes") {
    using How = SharedMemory::How;
    WrapperInfo info = with_allocated("8L");
    info.run.shared_memory.push_back({"buf1", "buf0", How::moved, 1});
    CHECK(layout_at(info, 1) != kNone);
    info.run.shared_memory[0] = {"buf1", "buf0", How::view, 1, WrittenView{"{4L, 2L}", "{2L, 1L}", "", ""}};
    CHECK(layout_at(info, 1) != kNone);
    info.run.shared_memory[0].layout->sizes = "{s77}";
    CHECK(layout_at(info, 1) == kNone);
    info.run.shared_memory[0].layout.reset();
    CHECK(layout_at(info, 1) == kNone);
}

TEST_CASE("Each view of a tensor has its own layout") {
    WrapperInfo info = with_allocated("8L");
    TensorName& passed = info.run.sites[1].arguments[0].tensors[0];
    passed = {"buf0", WrittenView{"{4L}", "{2L}", "", ""}};
    const std::uint32_t view = layout_at(info, 1);
    CHECK(view != kNone);
    CHECK(view != layout_at(info, 0));
    passed.view->offset = "u0";
    CHECK(layout_at(info, 1) == kNone);
    passed.view.reset();
    CHECK(layout_at(info, 1) == layout_at(info, 0));
}

TEST_CASE("No layout is fixed if a name may mean other memory") {
    WrapperInfo twice = with_allocated("8L");
    twice.run.allocations.push_back(twice.run.allocations[0]);
    CHECK(layout_at(twice, 0) != kNone);
    twice.run.allocations[1].sizes = "{9L}";
    CHECK(layout_at(twice, 0) == kNone);

    WrapperInfo branch = with_allocated("8L");
    branch.run.sites[1].region = 0;
    CHECK(layout_at(branch, 0) == kNone);
    branch.run.sites[1].kind = SiteKind::copy;  // of a misaligned input
    CHECK(layout_at(branch, 0) != kNone);

    WrapperInfo function = with_allocated("8L");
    function.run.sites[1].may_repeat = true;
    CHECK(layout_at(function, 0) == kNone);

    WrapperInfo dynamic = with_allocated("8L");
    dynamic.run.symbols["s77"] = "arg0_1_size[0]";
    CHECK(layout_at(dynamic, 0) == kNone);

    WrapperInfo folding = with_allocated("8L");
    folding.folding.sites.push_back(folding.run.sites[0]);
    CHECK(layout_at(folding, 0) == kNone);

    WrapperInfo incomplete = with_allocated("8L");
    incomplete.is_complete = false;
    CHECK(layout_at(incomplete, 0) == kNone);
}

TEST_CASE("A layout is not fixed if any call may change it") {
    WrapperInfo custom = with_allocated("8L");
    custom.run.sites[1] = kernel_on("buf0", "self", SiteKind::proxy);
    CHECK(layout_at(custom, 0) == kNone);

    WrapperInfo resized = with_allocated("8L");
    resized.run.sites[1] = kernel_on("buf0", "self", SiteKind::op);
    resized.run.sites[1].function = "aoti_torch_cuda_resize_";
    resized.run.sites[1].arguments.resize(4);
    CHECK(layout_at(resized, 0) == kNone);
    resized.run.sites[1].function = "aoti_torch_zero_";
    resized.run.sites[1].arguments.resize(1);
    CHECK(layout_at(resized, 0) != kNone);
}

TEST_CASE(
    "A layout is not fixed if an op writes the tensor from a custom op's result, which may have any size") {
    WrapperInfo info = with_allocated("8L");
    CallSite& op = info.run.sites[0];
    op = kernel_on("buf0", "out", SiteKind::op);
    op.function = "aoti_torch_cpu_addmm_out";
    op.arguments[0].role = Role::writes;
    op.arguments.resize(6);
    op.arguments[2].tensors.emplace_back().name = "buf2";
    CHECK(layout_at(info, 0) != kNone);
    info.run.sites.insert(info.run.sites.begin(), kernel_on("buf2", "result", SiteKind::proxy));
    CHECK(layout_at(info, 1) == kNone);
    info.run.sites[0] = kernel_on("buf3", "result", SiteKind::proxy);
    CHECK(layout_at(info, 1) != kNone);
    info.run.shared_memory.push_back({"buf2", "buf3", SharedMemory::How::moved, 1});
    CHECK(layout_at(info, 1) == kNone);
}

TEST_CASE("The layout of a constant is fixed") {
    WrapperInfo info = with_allocated("8L");
    info.constants.emplace_back().name = "buf1";
    CHECK(layout_at(info, 1) != kNone);
    info.run.sites[0] = kernel_on("buf1", "self", SiteKind::dispatcher);
    CHECK(layout_at(info, 1) == kNone);
}

}  // namespace
}  // namespace aoti_dbg::site_plan_test
