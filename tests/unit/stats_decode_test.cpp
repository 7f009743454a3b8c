// Every bit pattern of the narrow float kinds, compared with their definition in powers of two and with known
// values. The device fills its table with the same functions.
#include "stats_kernels/element_decode.hpp"
#include "tests/support/catch.hpp"
#include "tests/unit/stats_samples.hpp"

namespace aoti_dbg::stats_decode_test {

using stats_fixture::float_value;

namespace {

/// Equal as bits, apart from the payload of NaN.
bool same_value(float got, double expected) {
    if (std::isnan(expected)) return std::isnan(got);
    return static_cast<double>(got) == expected && std::signbit(got) == std::signbit(expected);
}

}  // namespace

TEST_CASE("Every float16 and bfloat16 decodes to its value") {
    std::uint32_t wrong = 0;
    for (std::uint32_t bits = 0; bits <= 0xffffU; ++bits) {
        const auto half = static_cast<std::uint16_t>(bits);
        if (!same_value(decode_float16(half), float_value(DType::float16, bits))) ++wrong;
        if (!same_value(decode_bfloat16(half), float_value(DType::bfloat16, bits))) ++wrong;
    }
    CHECK(wrong == 0);
}

TEST_CASE("Every float8 of the five kinds decodes to its value") {
    for (auto number = static_cast<std::uint32_t>(DType::float8_e4m3fn);
         number <= static_cast<std::uint32_t>(DType::float8_e8m0fnu); ++number) {
        const auto dtype = static_cast<DType>(number);
        for (std::uint32_t bits = 0; bits < 256; ++bits) {
            INFO(dtype_name(dtype) << " " << bits);
            REQUIRE(
                same_value(decode_float8(dtype, static_cast<std::uint8_t>(bits)), float_value(dtype, bits)));
        }
    }
}

TEST_CASE("The extremes of the float8 kinds are those of their papers") {
    CHECK(decode_float8(DType::float8_e4m3fn, 0x7e) == 448.0F);
    CHECK(decode_float8(DType::float8_e4m3fn, 0x01) == 0x1p-9F);
    CHECK(std::isnan(decode_float8(DType::float8_e4m3fn, 0xff)));
    CHECK(decode_float8(DType::float8_e5m2, 0x7b) == 57344.0F);
    CHECK(decode_float8(DType::float8_e5m2, 0xfc) == -INFINITY);
    CHECK(decode_float8(DType::float8_e4m3fnuz, 0x7f) == 240.0F);
    CHECK(std::isnan(decode_float8(DType::float8_e4m3fnuz, 0x80)));
    CHECK(decode_float8(DType::float8_e5m2fnuz, 0x7f) == 57344.0F);
    CHECK(decode_float8(DType::float8_e5m2fnuz, 0x01) == 0x1p-17F);
    CHECK(decode_float8(DType::float8_e8m0fnu, 0x7f) == 1.0F);
    CHECK(decode_float8(DType::float8_e8m0fnu, 0x00) == 0x1p-127F);
    CHECK(decode_float8(DType::float8_e8m0fnu, 0xfe) == 0x1p127F);
}

TEST_CASE("Every byte of float4_e2m1fn_x2 decodes to its two numbers, the low bits first") {
    constexpr float kMagnitudes[] = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6};
    for (std::uint32_t element = 0; element < 256; ++element) {
        INFO(element);
        for (std::uint32_t number = 0; number < 2; ++number) {
            const std::uint32_t code = number == 0 ? element % 16 : element / 16;
            const double expected = code < 8 ? kMagnitudes[code] : -kMagnitudes[code - 8];
            const std::uint8_t bits = float4_bits(static_cast<std::uint8_t>(element), number);
            REQUIRE(bits == code);
            REQUIRE(same_value(decode_float4(bits), expected));
            REQUIRE(same_value(decode_float4(bits), float_value(DType::float4_e2m1fn_x2, code)));
        }
    }
}

}  // namespace aoti_dbg::stats_decode_test
