// The text of level 2, compared with the output of PyTorch 2.11's own printer for the same tensors.
#include "serializer/event_text.hpp"

#include <cmath>
#include <complex>
#include <limits>

#include "tests/support/catch.hpp"
#include "tests/unit/event_fixture.hpp"

namespace aoti_dbg::event_text_test {
namespace {

using namespace test;

std::string text_of(const MeasuredCall& call) {
    std::string text;
    TextRenderer().render(call, text);
    return text;
}

std::string text_of(const MeasuredArgument& argument) {
    const SiteFacts site = site_of("kernel");
    return text_of(call_of(EventSide::before, &site, {argument}));
}

std::string text_of(const HeldTensor& held) {
    return text_of(held.measured(label_of("buf0")));
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

std::string values(std::vector<std::int64_t> sizes, const std::vector<float>& elements) {
    const HeldTensor held(DType::float32, std::move(sizes), elements);
    std::string text;
    append_values(held.facts, held.measured(label_of("buf0")).values, text);
    return text;
}

TEST_CASE("A tensor prints line for line as in PyTorch, with the standard deviation after the maximum") {
    const HeldTensor held(DType::float32, {2, 2}, std::vector<float>{1.0F, 2.5F, 3.0F, 0.0F});
    CHECK(text_of(held) ==
          "[  before_launch - kernel - buf0  ]:\n"
          " 1.0000  2.5000\n"
          " 3.0000  0.0000\n"
          "[ CPUFloatType{2,2} ]\n"
          "Number of elements: 4\n"
          "Dtype: float32\n"
          "Mean value: 1.625\n"
          "Min value: 0\n"
          "Max value: 3\n"
          "Std value: 1.37689\n"
          "Device: cpu\n"
          "Size: [2, 2]\n"
          "Stride: [2, 1]\n"
          "Layout: Strided\n"
          "Is contiguous: 1\n"
          "Requires grad: 0\n"
          "\n");
}

TEST_CASE("A packed tensor prints PyTorch's number of elements and sizes, and both numbers of each element") {
    const auto values_of = [](std::vector<std::int64_t> sizes, const std::vector<std::uint8_t>& elements) {
        const HeldTensor held(DType::float4_e2m1fn_x2, std::move(sizes), elements);
        std::string text;
        append_values(held.facts, held.measured(label_of("buf0")).values, text);
        return text;
    };
    CHECK(values_of({}, {0xf1}) == " 0.5000\n-6.0000\n[ CPUFloat4_e2m1fn_x2Type{} ]\n");
    CHECK(values_of({1}, {0x2a}) == "-1\n 1\n[ CPUFloat4_e2m1fn_x2Type{1} ]\n");
    const HeldTensor held(DType::float4_e2m1fn_x2, {2, 1}, std::vector<std::uint8_t>{0x71, 0x80});
    CHECK(text_of(held) ==
          "[  before_launch - kernel - buf0  ]:\n"
          " 0.5000  6.0000\n"
          " 0.0000 -0.0000\n"
          "[ CPUFloat4_e2m1fn_x2Type{2,1} ]\n"
          "Number of elements: 2\n"
          "Dtype: c10::Float4_e2m1fn_x2\n"
          "Mean value: 1.625\n"
          "Min value: 0\n"
          "Max value: 6\n"
          "Std value: 2.92617\n"
          "Device: cpu\n"
          "Size: [2, 1]\n"
          "Stride: [1, 1]\n"
          "Layout: Strided\n"
          "Is contiguous: 1\n"
          "Requires grad: 0\n"
          "\n");
}

TEST_CASE("NaN and Inf are counted on a line of their own, if there are any") {
    const float inf = std::numeric_limits<float>::infinity();
    const HeldTensor held(DType::float32, {5}, std::vector<float>{std::nanf(""), 1, inf, -inf, inf});
    CHECK(contains(text_of(held), "\nNaN/Inf: 1 NaN, 2 +Inf, 1 -Inf\nDevice: cpu\n"));
    CHECK(contains(text_of(held), "Mean value: nan\n"));
    CHECK_FALSE(contains(text_of(HeldTensor(DType::float32, {1}, std::vector<float>{1})), "NaN/Inf"));
}

TEST_CASE("Integers keep all their digits") {
    const HeldTensor held(DType::int64, {2}, std::vector<std::int64_t>{9007199254740993, -1});
    CHECK(contains(text_of(held), "Max value: 9007199254740993\n"));
    CHECK(contains(text_of(held), "Dtype: long int\n"));
}

TEST_CASE("A complex tensor has both of its parts and no values") {
    const HeldTensor held(DType::complex64, {2}, std::vector<std::complex<float>>{{1, -2}, {3, 0.5F}});
    CHECK(contains(text_of(held),
                   "]:\nNumber of elements: 2\nDtype: c10::complex<float>\nMean value: (2,-0.75)\n"
                   "Min value: (1,-2)\nMax value: (3,0.5)\nStd value: (1.41421,1.76777)\nDevice: cpu\n"));
}

TEST_CASE("An empty tensor has neither values nor statistics") {
    const HeldTensor held(DType::float32, {2, 0, 3}, std::vector<float>{});
    CHECK(contains(text_of(held),
                   "]:\n[ CPUFloatType{2,0,3} ]\nNumber of elements: 0\nDtype: float32\nDevice: cpu\n"));
}

TEST_CASE("More than 64 values are not written") {
    CHECK(contains(text_of(HeldTensor(DType::float32, {64}, std::vector<float>(64))), "CPUFloatType"));
    CHECK_FALSE(contains(text_of(HeldTensor(DType::float32, {65}, std::vector<float>(65))), "CPUFloatType"));
}

TEST_CASE("Values of a tensor on a GPU have the type that PyTorch gives them") {
    HeldTensor held(DType::float16, {1}, std::vector<std::uint16_t>{0x3c00});
    held.facts.device = "cuda:0";
    CHECK(contains(text_of(held), " 1\n[ CUDAHalfType{1} ]\n"));
}

TEST_CASE("An unmeasured tensor has its reason and all other known facts") {
    HeldTensor held(DType::float32, {2}, std::vector<float>{1, 2});
    held.facts.device = "cuda:1";
    const std::string rest =
        "Device: cuda:1\nSize: [2]\nStride: [1]\nLayout: Strided\nIs contiguous: 1\n"
        "Requires grad: 0\n\n";
    const ArgumentFacts label = label_of("buf0");
    const std::string begin = "[  before_launch - kernel - buf0  ]:\nNumber of elements: 2\nDtype: float32\n";
    CHECK(text_of(held.unmeasured(label, "the stream is capturing")) ==
          begin + "Not measured: the stream is capturing\n" + rest);
    MeasuredArgument late = held.unmeasured(label, "");
    late.measured = Measured::not_yet;
    CHECK(text_of(late) == begin + "Not measured: the GPU did not reach this call\n" + rest);
    held.facts.number = next_facts_number();
    held.facts.unmeasured = "it reaches beyond its storage";
    CHECK(text_of(held.unmeasured(label, "")) ==
          begin + "Not measured: it reaches beyond its storage\n" + rest);
}

TEST_CASE("A tensor with only a known address says so") {
    HeldTensor held(DType::float32, {}, std::vector<float>{1});
    held.facts.dtype = "";
    held.facts.sizes_known = false;
    CHECK(text_of(held.unmeasured(label_of("arg0"), "its size is not known")) ==
          "[  before_launch - kernel - arg0  ]:\nNumber of elements: unknown\nDtype: unknown\n"
          "Not measured: its size is not known\nDevice: cpu\nSize: unknown\n\n");
}

TEST_CASE("An earlier measurement has its time as the last line") {
    const HeldTensor held(DType::float32, {1}, std::vector<float>{1});
    const ArgumentFacts label = label_of("buf0");
    MeasuredArgument argument = held.measured(label);
    argument.measured = Measured::earlier;
    CHECK(contains(text_of(argument), "Requires grad: 0\nAs of: the inputs\n\n"));
    argument.measured_at = 7;
    CHECK(contains(text_of(argument), "Requires grad: 0\nAs of: call 7\n\n"));
}

TEST_CASE("Inputs and outputs of a run have the names that PyTorch gives them") {
    const HeldTensor held(DType::float32, {1}, std::vector<float>{1});
    const ArgumentFacts label = label_of("arg5_1");
    CHECK(text_of(call_of(EventSide::inputs, nullptr, {held.measured(label)}))
              .find("[  aoti_model_inputs - arg5_1  ]:\n") == 0);
    CHECK(text_of(call_of(EventSide::outputs, nullptr, {held.measured(label)}))
              .find("[  aoti_model_outputs - arg5_1  ]:\n") == 0);
    const SiteFacts site = site_of("k");
    CHECK(text_of(call_of(EventSide::after, &site, {held.measured(label)}))
              .find("[  after_launch - k - arg5_1  ]:\n") == 0);
}

TEST_CASE("A call with a name only is a line of level 3") {
    const SiteFacts site = site_of("k");
    MeasuredCall call = call_of(EventSide::before, &site, {});
    call.name_only = true;
    CHECK(text_of(call) == "[ before_launch: k ]\n");
    call.side = EventSide::after;
    call.nesting = 2;
    CHECK(text_of(call) == "    [ after_launch: k ]\n");
}

TEST_CASE("Names and strings cannot control a terminal") {
    const SiteFacts site = site_of("evil\x1b[2J");
    const ArgumentFacts label = label_of("a\nb");
    CHECK(text_of(call_of(EventSide::before, &site, {scalar_of(label, "x\xff\x7f\xc3\xa9\xc2\x9b")})) ==
          "[  before_launch - evil?[2J - a?b: x\xEF\xBF\xBD?\xc3\xa9?  ]\n");
}

TEST_CASE("Repeated facts are written alike, and new ones do not pile up") {
    TextRenderer renderer;
    const HeldTensor held(DType::float32, {1}, std::vector<float>{1});
    std::string expected;
    for (std::size_t i = 0; i < 2 * kMostCachedFacts + 5; ++i) {
        const SiteFacts site = site_of("kernel");
        std::string text;
        renderer.render(call_of(EventSide::before, &site, {held.measured(label_of("buf0"))}), text);
        if (i == 0) expected = text;
        REQUIRE(text == expected);
    }
}

TEST_CASE("The format of values depends on their magnitudes, as in at::print") {
    CHECK(values({2}, {123456.5F, 1}) == " 1.2346e+05\n 1.0000e+00\n[ CPUFloatType{2} ]\n");
    CHECK(values({2}, {1e-7F, 5e-7F}) == "1e-07 *\n 1.0000\n 5.0000\n[ CPUFloatType{2} ]\n");
    CHECK(values({2}, {0.0012F, 0.0025F}) == "0.001 *\n 1.2000\n 2.5000\n[ CPUFloatType{2} ]\n");
    CHECK(values({2}, {1.5F, -200.25F}) == "   1.5000\n-200.2500\n[ CPUFloatType{2} ]\n");
    CHECK(values({2}, {-1, -1000}) == "   -1\n-1000\n[ CPUFloatType{2} ]\n");
    CHECK(values({2}, {1e10F, 5}) == " 1.0000e+10\n 5.0000e+00\n[ CPUFloatType{2} ]\n");
    CHECK(values({1}, {1234567.25F}) == "1000000 *\n 1.2346\n[ CPUFloatType{1} ]\n");
    CHECK(values({3}, {std::nanf(""), 1, HUGE_VALF}) == "nan\n 1\ninf\n[ CPUFloatType{3} ]\n");
    CHECK(values({0}, {}) == "[ CPUFloatType{0} ]\n");
}

TEST_CASE("A scalar has as many digits as distinguish it from others") {
    CHECK(values({}, {0.1F}) == "0.10000000149011612\n[ CPUFloatType{} ]\n");
    CHECK(values({}, {1e10F}) == "10000000000\n[ CPUFloatType{} ]\n");
    CHECK(values({}, {3.25F}) == "3.25\n[ CPUFloatType{} ]\n");
    CHECK(values({}, {0}) == "0\n[ CPUFloatType{} ]\n");
    const HeldTensor held(DType::int64, {}, std::vector<std::int64_t>{123456789});
    CHECK(contains(text_of(held), "]:\n123456789\n[ CPULongType{} ]\n"));
}

TEST_CASE("Lines that are too long are cut into columns, scaled or not") {
    const std::vector<float> twelve = {1.5F, -0.25F, 2, 1, 1, 1, 1, 1, 1, 1, 0.75F, 1};
    CHECK(values({1, 12}, twelve) ==
          "Columns 1 to 10 1.5000 -0.2500  2.0000  1.0000  1.0000  1.0000  1.0000  1.0000  1.0000  1.0000\n"
          "\n"
          "Columns 11 to 12 0.7500  1.0000\n"
          "[ CPUFloatType{1,12} ]\n");
    std::vector<float> scaled = twelve;
    for (float& value : scaled)
        value = value * 1000000 + 0.5F;
    CHECK(values({1, 12}, scaled).find("Columns 1 to 101000000 *\n 1.5000 -0.2500") == 0);
}

TEST_CASE("A tensor of more dimensions is a list of matrices, each in a format of its own") {
    CHECK(values({2, 2, 3}, {1541000.5F, -293400, -2178800, 568400, -1084500, -1398600, 403350.5F, 838030,
                             -719260, -403340, -596640, 182040}) ==
          "(1,.,.) = \n"
          "1000000 *\n"
          "  1.5410 -0.2934 -2.1788\n"
          "   0.5684 -1.0845 -1.3986\n"
          "\n"
          "(2,.,.) = \n"
          "100000 *\n"
          "  4.0335  8.3803 -7.1926\n"
          "  -4.0334 -5.9664  1.8204\n"
          "[ CPUFloatType{2,2,3} ]\n");
    CHECK(values({2, 2, 1}, {1.5F, -3.25F, 0.75F, 4}) ==
          "(1,.,.) = \n"
          " 1.5000\n"
          " -3.2500\n"
          "\n"
          "(2,.,.) = \n"
          " 0.7500\n"
          "  4.0000\n"
          "[ CPUFloatType{2,2,1} ]\n");
}

TEST_CASE("A scalar argument is one line") {
    const SiteFacts site = site_of("kernel");
    const ArgumentFacts label = label_of("s77");
    CHECK(text_of(call_of(EventSide::before, &site, {scalar_of(label, "8")})) ==
          "[  before_launch - kernel - s77: 8  ]\n");
}

}  // namespace
}  // namespace aoti_dbg::event_text_test
