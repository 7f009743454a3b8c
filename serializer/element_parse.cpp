// Parses elements from JSON. It is separate from element_value.cpp because std::from_chars needs libm, which
// the preloaded library must not need.
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>

#include "serializer/element_value.hpp"
#include "stats_kernels/element_decode.hpp"

namespace aoti_dbg {
namespace {

/// std::from_chars accepts "nan" and "inf" too, but not our words for them.
template <typename Float>
std::optional<Float> read_float(std::string_view text) {
    using Limits = std::numeric_limits<Float>;
    if (text == "NaN") return Limits::quiet_NaN();
    if (text == "-NaN") return -Limits::quiet_NaN();
    if (text == "Infinity") return Limits::infinity();
    if (text == "-Infinity") return -Limits::infinity();
    Float value = 0;
    const char* const end = text.data() + text.size();
    const std::from_chars_result result = std::from_chars(text.data(), end, value);
    if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
    return value;
}

template <typename Type>
bool store(Type value, std::byte* to) {
    memcpy(to, &value, sizeof value);
    return true;
}

bool is_same(float a, float b) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
    return a == b && std::signbit(a) == std::signbit(b);
}

bool store_float4(float value, std::byte* to) {
    for (std::uint8_t code = 0; code < 16; ++code)
        if (is_same(decode_float4(code), value)) return store(code, to);
    return false;
}

/// Searches for the code of `value`. For a NaN it prefers a code with the same sign.
bool store_float8(DType dtype, float value, std::byte* to) {
    std::optional<std::uint8_t> found;
    for (std::uint32_t code = 0; code < 256; ++code) {
        const float candidate = decode_float8(dtype, static_cast<std::uint8_t>(code));
        if (!is_same(candidate, value)) continue;
        if (!found || std::signbit(candidate) == std::signbit(value)) found = static_cast<std::uint8_t>(code);
    }
    return found && store(*found, to);
}

/// The inverse of decode_float16() for every value that it returns.
bool store_float16(float value, std::byte* to) {
    const auto bits = __builtin_bit_cast(std::uint32_t, value);
    const std::uint32_t sign = (bits >> 16U) & 0x8000U;
    const float size = std::fabs(value);
    std::uint32_t magnitude = 0x7e00U;
    if (size <= 65504.0F) {
        const std::uint32_t normal = ((bits & 0x7fffffffU) - (112U << 23U)) >> 13U;
        magnitude = size < 0x1p-14F ? static_cast<std::uint32_t>(size * 0x1p24F) : normal;
    } else if (std::isinf(value)) {
        magnitude = 0x7c00U;
    } else if (!std::isnan(value)) {
        return false;
    }
    const auto code = static_cast<std::uint16_t>(sign | magnitude);
    return is_same(decode_float16(code), value) && store(code, to);
}

bool store_bfloat16(float value, std::byte* to) {
    const auto bits = __builtin_bit_cast(std::uint32_t, value);
    const auto code = static_cast<std::uint16_t>(bits >> 16U);
    return is_same(decode_bfloat16(code), value) && store(code, to);
}

template <typename Integer>
bool store_integer(std::string_view text, std::byte* to) {
    Integer value = 0;
    const char* const end = text.data() + text.size();
    const std::from_chars_result result = std::from_chars(text.data(), end, value);
    return result.ec == std::errc() && result.ptr == end && store(value, to);
}

bool store_integer(DType dtype, std::string_view text, std::byte* to) {
    switch (dtype) {
        case DType::int8:
            return store_integer<std::int8_t>(text, to);
        case DType::int16:
            return store_integer<std::int16_t>(text, to);
        case DType::int32:
            return store_integer<std::int32_t>(text, to);
        case DType::int64:
            return store_integer<std::int64_t>(text, to);
        case DType::uint8:
            return store_integer<std::uint8_t>(text, to);
        case DType::uint16:
            return store_integer<std::uint16_t>(text, to);
        case DType::uint32:
            return store_integer<std::uint32_t>(text, to);
        default:
            return store_integer<std::uint64_t>(text, to);
    }
}

}  // namespace

bool read_json_element(DType dtype, std::string_view text, std::byte* to) {
    if (dtype == DType::boolean) {
        if (text != "true" && text != "false") return false;
        return store(static_cast<std::uint8_t>(text == "true"), to);
    }
    if (is_integer(dtype)) return store_integer(dtype, text, to);
    if (dtype == DType::float64) {
        const std::optional<double> value = read_float<double>(text);
        return value && store(*value, to);
    }
    const std::optional<float> value = read_float<float>(text);
    if (!value) return false;
    if (dtype == DType::float32) return store(*value, to);
    if (dtype == DType::float16) return store_float16(*value, to);
    if (dtype == DType::bfloat16) return store_bfloat16(*value, to);
    if (dtype == DType::float4_e2m1fn_x2) return store_float4(*value, to);
    return store_float8(dtype, *value, to);
}

}  // namespace aoti_dbg
