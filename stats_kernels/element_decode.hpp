// Decodes the narrow floating-point kinds to float, which represents all of their values exactly. It uses
// integer arithmetic and one exact multiplication by a power of two. So the host's compiler can vectorize it,
// and flush-to-zero modes do not change it.
#pragma once

#include <cstdint>

#include "stats_kernels/tensor_view.hpp"

namespace aoti_dbg {

AOTI_DBG_HOST_DEVICE AOTI_DBG_ALWAYS_INLINE constexpr float float_of_bits(std::uint32_t bits) {
    return __builtin_bit_cast(float, bits);
}

AOTI_DBG_HOST_DEVICE AOTI_DBG_ALWAYS_INLINE constexpr double double_of_bits(std::uint64_t bits) {
    return __builtin_bit_cast(double, bits);
}

AOTI_DBG_HOST_DEVICE AOTI_DBG_ALWAYS_INLINE constexpr std::uint64_t bits_of_double(double value) {
    return __builtin_bit_cast(std::uint64_t, value);
}

inline constexpr std::uint32_t kFloatNan = 0x7fc00000U;
inline constexpr std::uint32_t kFloatInfinity = 0x7f800000U;

AOTI_DBG_HOST_DEVICE AOTI_DBG_ALWAYS_INLINE constexpr float decode_bfloat16(std::uint16_t bits) {
    return float_of_bits(static_cast<std::uint32_t>(bits) << 16U);
}

AOTI_DBG_HOST_DEVICE AOTI_DBG_ALWAYS_INLINE constexpr float decode_float16(std::uint16_t bits) {
    const std::uint32_t magnitude = bits & 0x7fffU;
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000U) << 16U;
    const std::uint32_t normal = (magnitude << 13U) + (112U << 23U);
    const std::uint32_t special = (magnitude << 13U) | kFloatInfinity;
    const float denormal = static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24F;
    const std::uint32_t denormal_bits = __builtin_bit_cast(std::uint32_t, denormal);
    const std::uint32_t finite = magnitude < 0x400U ? denormal_bits : normal;
    return float_of_bits((magnitude >= 0x7c00U ? special : finite) | sign);
}

/// Decodes a sign, kExponentBits and a mantissa, as in IEEE except for the bias. The bits must not be an
/// infinity or a NaN.
template <std::uint32_t kExponentBits, std::uint32_t kBias>
AOTI_DBG_HOST_DEVICE AOTI_DBG_ALWAYS_INLINE constexpr float decode_finite_float8(std::uint8_t bits) {
    constexpr std::uint32_t kMantissaBits = 7U - kExponentBits;
    constexpr float kUnit = float_of_bits((127U + 1U - kBias - kMantissaBits) << 23U);
    const std::uint32_t magnitude = bits & 0x7fU;
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x80U) << 24U;
    const std::uint32_t normal = (magnitude << (23U - kMantissaBits)) + ((127U - kBias) << 23U);
    const float denormal = static_cast<float>(static_cast<std::int32_t>(magnitude)) * kUnit;
    const std::uint32_t denormal_bits = __builtin_bit_cast(std::uint32_t, denormal);
    return float_of_bits((magnitude < (1U << kMantissaBits) ? denormal_bits : normal) | sign);
}

/// Decodes the low four bits: sign, two bits of exponent, one of mantissa. None of them is NaN or Inf.
AOTI_DBG_HOST_DEVICE AOTI_DBG_ALWAYS_INLINE constexpr float decode_float4(std::uint8_t bits) {
    const std::uint32_t magnitude = bits & 7U;
    const std::uint32_t sign = static_cast<std::uint32_t>(bits & 8U) << 28U;
    const std::uint32_t denormal = magnitude == 0 ? 0 : 126U << 23U;
    return float_of_bits((magnitude < 2 ? denormal : (magnitude << 22U) + (126U << 23U)) | sign);
}

/// Returns one of the two numbers of a float4_e2m1fn_x2, the low one first, in the low four bits.
AOTI_DBG_HOST_DEVICE AOTI_DBG_ALWAYS_INLINE constexpr std::uint8_t float4_bits(std::uint8_t element,
                                                                               std::uint32_t number) {
    return static_cast<std::uint8_t>(element >> (number * 4U) & 15U);
}

/// Decodes one of the five float8 kinds and returns NaN for any other dtype.
AOTI_DBG_HOST_DEVICE AOTI_DBG_ALWAYS_INLINE constexpr float decode_float8(DType dtype, std::uint8_t bits) {
    const std::uint32_t magnitude = bits & 0x7fU;
    const float nan = float_of_bits(kFloatNan);
    switch (dtype) {
        case DType::float8_e4m3fn:
            return magnitude == 0x7fU ? nan : decode_finite_float8<4, 7>(bits);
        case DType::float8_e5m2:
            if (magnitude > 0x7cU) return nan;
            if (magnitude < 0x7cU) return decode_finite_float8<5, 15>(bits);
            return float_of_bits(kFloatInfinity | (static_cast<std::uint32_t>(bits & 0x80U) << 24U));
        case DType::float8_e4m3fnuz:
            return bits == 0x80U ? nan : decode_finite_float8<4, 8>(bits);
        case DType::float8_e5m2fnuz:
            return bits == 0x80U ? nan : decode_finite_float8<5, 16>(bits);
        case DType::float8_e8m0fnu:
            if (bits == 0xffU) return nan;
            return float_of_bits(bits == 0 ? 0x00400000U : static_cast<std::uint32_t>(bits) << 23U);
        default:
            return nan;
    }
}

AOTI_DBG_HOST_DEVICE constexpr bool is_float8(DType dtype) {
    return dtype >= DType::float8_e4m3fn && dtype <= DType::float8_e8m0fnu;
}

}  // namespace aoti_dbg
