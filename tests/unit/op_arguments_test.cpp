// The arguments of an op as a captured call has them: absent and unreadable ones first, then exact values.
#include "shim/capture/op_arguments.hpp"

#include <cmath>
#include <limits>

#include "shim/runtime/process.hpp"
#include "shim/tensors/site_plan.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/shim_frame.hpp"

namespace aoti_dbg::op_arguments_test {
namespace {

using test::Frame;
using test::handle;
using test::shim;
using Labels = std::vector<std::string>;

std::vector<LaunchArgument> arguments_of(const ShimSignature& signature, const StubFrame& frame) {
    ensure_process_ready();
    PlainList<CallArgument> found;
    shim_arguments(signature, frame, nullptr, false, found);
    return arguments_of_shim(signature, frame, nullptr, found);
}

Labels values_of(const std::vector<LaunchArgument>& arguments) {
    Labels values;
    for (const LaunchArgument& argument : arguments)
        values.push_back(argument.value);
    return values;
}

TEST_CASE("An absent argument is None, and an absent element of a list has no label") {
    const TensorHandle there = handle(16);
    const TensorHandle list[] = {nullptr, there};
    const TensorHandle* const optionals[] = {nullptr, &there};
    Frame frame;
    frame.integer(0).integer(0).pointer(list).integer(2).pointer(optionals).integer(2).integer(0).integer(0);
    const auto arguments = arguments_of(shim("iqlnLnZA"), frame);
    REQUIRE(arguments.size() == 6);
    CHECK(arguments[0].value == "None");
    CHECK(arguments[1].value == "None");
    CHECK(arguments[2].is_list);
    CHECK(arguments[2].labels == Labels{"", "arg2[1]"});
    CHECK(arguments[3].labels == Labels{"", "arg4[1]"});
    CHECK(arguments[3].position == 4);
    CHECK(arguments[4].value == "None");
}

TEST_CASE("A list without elements is a list, and a null list of numbers is None") {
    const std::int64_t numbers[] = {1, -1, std::numeric_limits<std::int64_t>::min()};
    Frame frame;
    frame.integer(0).integer(0).pointer(numbers).integer(0).pointer(numbers).integer(3).integer(0).integer(0);
    const auto arguments = arguments_of(shim("AnAnAnln"), frame);
    CHECK(values_of(arguments) == Labels{"None", "[]", "[1, -1, -9223372036854775808]", ""});
    CHECK(arguments[3].is_list);
    CHECK(arguments[3].is_known());
}

TEST_CASE("An optional list is behind a pointer") {
    const std::int64_t numbers[] = {4, 5};
    const std::int64_t* const list = numbers;
    Frame frame;
    frame.pointer(&list).integer(2).pointer(&list).integer(0).integer(0).integer(0);
    CHECK(values_of(arguments_of(shim("PnPnPn"), frame)) == Labels{"[4, 5]", "[]", "None"});
}

TEST_CASE("An absent tensor keeps its place in a list of a custom op") {
    Argument written;
    written.type = "as_optional_tensors";
    written.value = "None, tensor, None, tensor";
    written.tensors.resize(2);
    SitePlan plan;
    for (const char* label : {"buf0", "buf1"}) {
        PlannedArgument& element = plan.arguments.emplace_back();
        element.label = label;
        element.written = &written;
    }
    plan.by_position = {{&plan.arguments[0], &plan.arguments[1]}};
    Frame frame;
    for (int i = 0; i < 4; ++i)
        frame.integer(0);
    const auto arguments = arguments_of_proxy(frame, plan);
    REQUIRE(arguments.size() == 1);
    CHECK(arguments[0].is_list);
    CHECK(arguments[0].labels == Labels{"", "buf0", "", "buf1"});
}

TEST_CASE("What cannot be read is unknown, and takes its place in the frame") {
    const std::string cut(100, 'x');
    const int generator = 0;
    Frame frame;
    frame.pointer(&generator).real(1).real(2).pointer(&generator).integer(1).pointer(cut.c_str()).integer(7);
    const auto arguments = arguments_of(shim("pCOnsw"), frame);
    CHECK(values_of(arguments) == Labels{"", "", "", "", "7"});
    for (std::size_t i = 0; i + 1 < arguments.size(); ++i)
        CHECK_FALSE(arguments[i].is_known());
}

TEST_CASE("Floats are exact, and Python reads them as floats") {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    Frame frame;
    frame.real(1).real(0.1).real(1e300).real(-kInfinity).real(std::nan(""));
    CHECK(values_of(arguments_of(shim("ddddd"), frame)) ==
          Labels{"1.0", "0.1", "1e+300", "-float(\"inf\")", "float(\"nan\")"});
    CHECK(python_real(static_cast<double>(0.1F)) == "0.10000000149011612");
    CHECK(python_real(-0.0) == "-0.0");
}

TEST_CASE("Numbers have the sign and size of their type") {
    const std::int32_t dtype = 6;
    const double scale = 0.125;
    Frame frame;
    frame.integer(~0ULL).integer(~0ULL).integer(0xffffffff00000001).integer(0x100);
    frame.pointer(&dtype).pointer(&scale).pointer("a\"b");
    CHECK(values_of(arguments_of(shim("wuzbZDs"), frame)) ==
          Labels{"-1", "18446744073709551615", "1", "False", "6", "0.125", R"("a\"b")"});
}

TEST_CASE("A string of an op behind the proxy executor keeps its characters") {
    Argument written;
    written.kind = ArgumentKind::string;
    written.value = "\"h\u00f6he\"\n";
    PlannedArgument planned;
    planned.written = &written;
    SitePlan plan;
    plan.by_position = {{&planned}};
    Frame frame;
    frame.integer(0).integer(0).integer(0).pointer(nullptr);
    CHECK(values_of(arguments_of_proxy(frame, plan)) == Labels{"\"\\\"h\u00f6he\\\"\\n\""});
}

TEST_CASE("What the op returns has its place, also before the call, unless it is not requested") {
    const TensorHandle place = nullptr;
    Frame frame;
    frame.integer(16).integer(0).pointer(&place);
    const auto arguments = arguments_of(shim("irr", "self ret0 ret1"), frame);
    REQUIRE(arguments.size() == 2);
    CHECK(arguments[0].parameter == "self");
    CHECK(arguments[0].labels == Labels{"arg0"});
    CHECK(arguments[1].parameter == "ret1");
    CHECK(arguments[1].role == Role::makes);
}

}  // namespace
}  // namespace aoti_dbg::op_arguments_test
