// The plans of call sites: what a call does with memory that no earlier call has written, and which constants
// stay as they are.
#include "shim/tensors/site_plan.hpp"

#include <string>
#include <utility>

#include "tests/support/catch.hpp"

namespace aoti_dbg {
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

}  // namespace
}  // namespace aoti_dbg
