// The arguments of a faulting call, once its measured event is known.
#include "tests/support/catch.hpp"
#include "triage/gather/call_facts.hpp"
#include "triage/judge/evidence.hpp"
#include "triage/judge/fault_words.hpp"

namespace aoti_dbg::measured_arguments_test {
namespace {

CrashArgument argument(const char* label, std::uint64_t begin, std::uint64_t bytes) {
    CrashArgument argument;
    argument.label = label;
    argument.begin = begin;
    argument.bytes = bytes;
    return argument;
}

}  // namespace

TEST_CASE("An argument that was not measured still explains a fault, and is not shown") {
    std::vector<CrashArgument> arguments = {argument("arg0_1", 0x1000, 0x100),
                                            argument("buf0", 0x9000, 0x100)};
    take_measured({argument("arg0_1", 0, 0)}, arguments);
    REQUIRE(arguments.size() == 2);
    CHECK(arguments[0].label == "arg0_1");
    CHECK(arguments[0].is_shown);
    CHECK(arguments[0].begin == 0x1000);
    CHECK(arguments[1].label == "buf0");
    CHECK_FALSE(arguments[1].is_shown);

    DeviceFault fault;
    fault.error = 700;
    fault.accessed = FaultedAccess{};
    fault.accessed->what = "read";
    fault.accessed->bytes = 4;
    fault.accessed->threads = {{"", 0x9100}};
    const PlacedAccess access = place_access(fault, arguments);
    CHECK(access.label == "buf0");
    CHECK(access.suspects == std::vector<std::size_t>{1});
}

}  // namespace aoti_dbg::measured_arguments_test
