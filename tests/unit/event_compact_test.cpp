// Compact lines: columns align whatever their contents, and notable values are marked.
#include "serializer/event_compact.hpp"

#include <cmath>
#include <complex>
#include <limits>
#include <sstream>

#include "tests/support/catch.hpp"
#include "tests/unit/event_fixture.hpp"

namespace aoti_dbg::event_compact_test {
namespace {

using namespace test;

std::vector<std::string> lines_of(const MeasuredCall& call, bool colour = false) {
    std::string text;
    CompactRenderer(colour).render(call, text);
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);)
        lines.push_back(line);
    return lines;
}

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

TEST_CASE("Columns align, however long names, sizes and numbers are") {
    const SiteFacts site = site_of("triton_per_fused__scaled_dot_product_efficient_attention_add_native_17");
    const ArgumentFacts label = label_of("buf0");
    const ArgumentFacts long_label = label_of("layers_17_attention_projection_weight");
    const HeldTensor small(DType::float32, {2}, std::vector<float>{1.25F, -1.25e-5F});
    const HeldTensor large(DType::bfloat16, {1, 128, 1, 4096, 1, 1, 16, 1},
                           std::vector<std::uint16_t>(std::size_t{128} * 4096 * 16, 0x3f80));
    const HeldTensor longs(DType::int64, {2}, std::vector<std::int64_t>{INT64_MIN, 7});
    const std::vector<std::string> lines =
        lines_of(call_of(EventSide::before, &site,
                         {small.measured(label), large.measured(long_label), longs.measured(label)}));
    REQUIRE(lines.size() == 4);
    CHECK(lines[0] ==
          "     call   kernel                          tensor          dtype[sizes]                     mean"
          "        std        min        max");
    CHECK(lines[1] ==
          "     3.12 > triton_per_fus.._add_native_17  buf0            f32[2]                          0.625"
          "     0.8839  -1.25e-05       1.25");
    for (const std::string& line : lines)
        CHECK(line.size() == lines[0].size());
    CHECK(contains(lines[2], "layers..weight"));
    CHECK(contains(lines[2], " bf16[1,128,..6,1,1,16,1] "));
    CHECK(contains(lines[3], " -9.223e+18 "));
    CHECK(lines[3].substr(0, 44) == "     3.12 > " + std::string(32, ' '));
}

TEST_CASE("Names in other scripts are not cut within a character, and controls are made harmless") {
    std::string greek;
    for (int i = 0; i < 40; ++i)
        greek += "\xCE\xB1";
    const SiteFacts site = site_of(greek + "\x1b[31m");
    const ArgumentFacts label = label_of("a");
    const std::string line = lines_of(call_of(EventSide::after, &site, {scalar_of(label, "\x1b[0m")}))[1];
    CHECK(contains(line, "\xCE\xB1..\xCE\xB1"));
    CHECK(contains(line, "?[31m  a=?[0m"));
    CHECK_FALSE(contains(line, "\x1b"));
    CHECK_FALSE(contains(line, "\xEF\xBF\xBD"));
}

TEST_CASE("NaN, Inf, zeros, reuse and unmeasured tensors are marked at the end of the line") {
    const float inf = std::numeric_limits<float>::infinity();
    const SiteFacts site = site_of("kernel");
    const ArgumentFacts label = label_of("buf0");
    const HeldTensor bad(DType::float32, {4}, std::vector<float>{std::nanf(""), inf, -inf, inf});
    const HeldTensor zero(DType::float32, {2}, std::vector<float>{0, -0.0F});
    const HeldTensor empty(DType::float32, {0}, std::vector<float>{});
    MeasuredArgument reused = bad.measured(label);
    reused.measured = Measured::earlier;
    reused.measured_at = 7;
    MeasuredArgument input = zero.measured(label);
    input.measured = Measured::earlier;
    const std::vector<std::string> lines = lines_of(call_of(
        EventSide::after, &site,
        {bad.measured(label), zero.measured(label), reused, input, empty.measured(label),
         zero.unmeasured(label, "the stream is capturing"), bad.measured(label, Requested::findings)}));
    REQUIRE(lines.size() == 8);
    CHECK(contains(lines[1], "nan        nan        nan  ! 1 NaN, 2 +Inf, 1 -Inf"));
    CHECK(contains(lines[2], "          0          0          0          0  all zeros"));
    CHECK(contains(lines[3], "  ! 1 NaN, 2 +Inf, 1 -Inf, as of 7"));
    CHECK(contains(lines[4], "  all zeros, as of the inputs"));
    CHECK(contains(lines[5], " empty"));
    CHECK(contains(lines[6], " not measured: the stream is capturing"));
    CHECK(contains(lines[7], "  ! 1 NaN"));
}

TEST_CASE("A tensor of packed elements is zero if both numbers of each are") {
    const SiteFacts site = site_of("kernel");
    const ArgumentFacts label = label_of("buf0");
    const HeldTensor zero(DType::float4_e2m1fn_x2, {2}, std::vector<std::uint8_t>{0x00, 0x88});
    const HeldTensor half(DType::float4_e2m1fn_x2, {2}, std::vector<std::uint8_t>{0x10, 0x20});
    const std::vector<std::string> lines =
        lines_of(call_of(EventSide::after, &site, {zero.measured(label), half.measured(label)}));
    CHECK(contains(lines[1], "f4_e2m1fn_x2[2] "));
    CHECK(contains(lines[1], "  all zeros"));
    CHECK_FALSE(contains(lines[2], "all zeros"));
}

TEST_CASE("A buffer that a call only writes is unwritten before the call, whatever its memory has") {
    const SiteFacts site = site_of("kernel");
    ArgumentFacts output = label_of("buf0");
    output.role = Role::writes;
    const HeldTensor garbage(DType::float32, {2}, std::vector<float>{std::nanf(""), 1});
    const HeldTensor pair(DType::complex64, {1}, std::vector<std::complex<float>>{{1, 2}});
    const auto before =
        lines_of(call_of(EventSide::before, &site,
                         {garbage.measured(output), pair.measured(output), garbage.measured(label_of("x"))}));
    REQUIRE(before.size() == 4);
    CHECK(before[1].ends_with(" unwritten"));
    CHECK(before[2].ends_with(" unwritten"));
    CHECK(contains(before[3], "! 1 NaN"));
    CHECK(contains(lines_of(call_of(EventSide::after, &site, {garbage.measured(output)}))[1], "! 1 NaN"));
}

TEST_CASE("Color appears only on request, and ends with its line") {
    const SiteFacts site = site_of("kernel");
    const ArgumentFacts label = label_of("buf0");
    const HeldTensor bad(DType::float32, {1}, std::vector<float>{std::nanf("")});
    const MeasuredArgument argument = bad.measured(label);
    CHECK_FALSE(contains(lines_of(call_of(EventSide::after, &site, {argument}))[1], "\x1b"));
    const std::string line = lines_of(call_of(EventSide::after, &site, {argument}), true)[1];
    CHECK(contains(line, "\x1b[31m"));
    CHECK(line.substr(line.size() - 4) == "\x1b[0m");
}

TEST_CASE("The scalars of a call share a line, and a call with a name only has one") {
    const SiteFacts site = site_of("kernel");
    const ArgumentFacts first = label_of("s77");
    const ArgumentFacts second = label_of("beta");
    CHECK(lines_of(call_of(EventSide::before, &site, {scalar_of(first, "8"), scalar_of(second, "1.5")}))[1] ==
          "     3.12 > kernel                          s77=8  beta=1.5");
    MeasuredCall call = call_of(EventSide::before, &site, {});
    call.name_only = true;
    call.nesting = 1;
    CHECK(lines_of(call)[1] == "     3.12 >   kernel");
}

TEST_CASE("Inputs and outputs are named as such, and both parts of a complex tensor have lines") {
    const ArgumentFacts label = label_of("arg0_1");
    const HeldTensor pairs(DType::complex64, {1}, std::vector<std::complex<float>>{{1, -2}});
    const MeasuredArgument argument = pairs.measured(label);
    const std::vector<std::string> lines = lines_of(call_of(EventSide::inputs, nullptr, {argument}));
    REQUIRE(lines.size() == 3);
    CHECK(contains(lines[1], "     3.in > (inputs)                        arg0_1.re       c64[1]"));
    CHECK(contains(lines[2], "     3.in >                                 arg0_1.im       c64[1]"));
    CHECK(contains(lines_of(call_of(EventSide::outputs, nullptr, {argument}))[1], "    3.out < (outputs)"));
}

TEST_CASE("The column headings repeat from time to time") {
    CompactRenderer renderer(false);
    const SiteFacts site = site_of("kernel");
    const ArgumentFacts label = label_of("buf0");
    const HeldTensor held(DType::float32, {1}, std::vector<float>{1});
    std::string text;
    for (int i = 0; i < 101; ++i)
        renderer.render(call_of(EventSide::before, &site, {held.measured(label)}), text);
    std::size_t titles = 0;
    for (std::size_t at = text.find("dtype[sizes]"); at != std::string::npos;
         at = text.find("dtype[sizes]", at + 1))
        ++titles;
    CHECK(titles == 3);
}

}  // namespace
}  // namespace aoti_dbg::event_compact_test
