// Describes a tensor by address and layout: every dtype of an AOTI shim, strides in elements, any layout
// (expanded, transposed, gaps, overlapping). It owns nothing and does not read the tensor.
#pragma once

#include <cstdint>
#include <span>

#include "stats_kernels/portable.hpp"

namespace aoti_dbg {

/// Our own numbers. The hash depends on them (README.md), so they must never change. Nothing else on disk or
/// in PyTorch uses them.
enum class DType : std::uint8_t {
    float64,
    float32,
    float16,
    bfloat16,
    float8_e4m3fn,
    float8_e5m2,
    float8_e4m3fnuz,
    float8_e5m2fnuz,
    float8_e8m0fnu,
    complex32,
    complex64,
    complex128,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
    boolean,
    float4_e2m1fn_x2,
};
inline constexpr std::uint32_t kDTypes = 22;

/// PyTorch rejects more dimensions.
inline constexpr std::uint32_t kMaxRank = 64;

/// Returns the bytes of an element, including both parts of a complex one.
AOTI_DBG_HOST_DEVICE constexpr std::uint32_t element_size(DType dtype) {
    switch (dtype) {
        case DType::complex128:
            return 16;
        case DType::float64:
        case DType::complex64:
        case DType::int64:
        case DType::uint64:
            return 8;
        case DType::float32:
        case DType::complex32:
        case DType::int32:
        case DType::uint32:
            return 4;
        case DType::float16:
        case DType::bfloat16:
        case DType::int16:
        case DType::uint16:
            return 2;
        default:
            return 1;
    }
}

AOTI_DBG_HOST_DEVICE constexpr bool is_complex(DType dtype) {
    return dtype >= DType::complex32 && dtype <= DType::complex128;
}

/// Includes bool.
AOTI_DBG_HOST_DEVICE constexpr bool is_integer(DType dtype) {
    return dtype >= DType::int8 && dtype <= DType::boolean;
}

AOTI_DBG_HOST_DEVICE constexpr bool is_unsigned(DType dtype) {
    return dtype >= DType::uint8 && dtype <= DType::boolean;
}

/// Returns whether an element has two numbers that share one set of statistics. Sizes, strides and indices
/// count elements.
AOTI_DBG_HOST_DEVICE constexpr bool is_packed(DType dtype) {
    return dtype == DType::float4_e2m1fn_x2;
}

/// Returns whether the dtype has neither NaN nor Inf.
AOTI_DBG_HOST_DEVICE constexpr bool is_always_finite(DType dtype) {
    return is_integer(dtype) || is_packed(dtype);
}

/// Returns the numbers in an element: two for complex and packed ones.
AOTI_DBG_HOST_DEVICE constexpr std::uint32_t numbers_in_element(DType dtype) {
    return is_complex(dtype) || is_packed(dtype) ? 2 : 1;
}

/// Returns how many numbers the statistics of one part cover.
AOTI_DBG_HOST_DEVICE constexpr std::uint64_t numbers_in_part(DType dtype, std::uint64_t elements) {
    return is_packed(dtype) ? 2 * elements : elements;
}

/// Returns the dtype of one part, which is the dtype itself unless it is complex.
AOTI_DBG_HOST_DEVICE constexpr DType part_dtype(DType dtype) {
    switch (dtype) {
        case DType::complex32:
            return DType::float16;
        case DType::complex64:
            return DType::float32;
        case DType::complex128:
            return DType::float64;
        default:
            return dtype;
    }
}

/// Returns torch's name without "torch.": "bfloat16", "bool".
const char* dtype_name(DType dtype);

/// Bits that PyTorch applies to elements only when it reads them (math_bits.hpp).
struct MathBits {
    bool conjugate = false;
    bool negative = false;
    bool operator==(const MathBits&) const = default;
    [[nodiscard]] AOTI_DBG_HOST_DEVICE constexpr bool any() const { return conjugate || negative; }
};

struct TensorView {
    const void* data = nullptr;
    DType dtype = DType::float32;
    std::span<const std::int64_t> sizes;    // at most kMaxRank
    std::span<const std::int64_t> strides;  // in elements, as many as sizes
    MathBits bits = {};                     // must satisfy can_apply()
};

/// Returns 1 for rank 0, and 0 if any size is 0.
std::uint64_t element_count(std::span<const std::int64_t> sizes);

/// Sizes and strides by value, without dimensions of size 1.
struct Layout {
    std::uint32_t rank = 0;
    std::int64_t sizes[kMaxRank] = {};
    std::int64_t strides[kMaxRank] = {};

    /// Returns whether the elements are contiguous.
    [[nodiscard]] bool is_contiguous() const { return rank == 0 || (rank == 1 && strides[0] == 1); }
};

/// Merges neighboring dimensions that one stride can cover. The row-major logical order stays the same. A
/// tensor without elements becomes rank 1 of size 0.
Layout collapse(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides);

/// Returns the same elements in memory order, collapsed, for what does not depend on the logical index. A
/// transposed tensor becomes contiguous.
Layout collapse_in_memory_order(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides);

/// Returns whether both orders are the same: no later element precedes an earlier one in memory.
bool lies_in_logical_order(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides);

}  // namespace aoti_dbg
