// The conjugate and negative bits of a PyTorch tensor. `c.conj()` and `torch._neg_view(x)` share the memory
// of their base and only set such a bit. PyTorch applies it when it reads an element, and so does this code.
// For floats that flips signs, which works on 16 bytes at a time. Must not depend on PyTorch's structs.
#pragma once

#include <cstdint>

#include "stats_kernels/tensor_view.hpp"

namespace aoti_dbg {

/// The sign bits to flip in 16 bytes of elements, or zeros.
struct SignMask {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
};

/// Returns whether flipping signs yields the elements that the program sees. PyTorch also negates integers,
/// which have no sign bit.
AOTI_DBG_HOST_DEVICE constexpr bool can_apply(MathBits bits, DType dtype) {
    return !bits.negative || is_complex(dtype) || dtype <= DType::bfloat16;
}

/// Requires can_apply(). A conjugate bit matters only for complex dtypes.
AOTI_DBG_HOST_DEVICE constexpr SignMask sign_mask(MathBits bits, DType dtype) {
    const std::uint32_t width = 8 * element_size(part_dtype(dtype));
    const std::uint64_t even = bits.negative ? 1 : 0;
    const std::uint64_t odd = is_complex(dtype) && bits.conjugate ? 1 - even : even;
    const std::uint64_t sign = std::uint64_t{1} << (width - 1);
    if (width == 64) return {even * sign, odd * sign};
    std::uint64_t word = even * sign | odd * (sign << width);
    if (width == 16) word |= word << 32U;
    return {word, word};
}

/// Flips signs in contiguous elements. The first one must start a group of 16 bytes.
inline void flip_signs(SignMask mask, unsigned char* bytes, std::uint64_t count) {
    if ((mask.low | mask.high) == 0) return;
    unsigned char pattern[16];
    __builtin_memcpy(pattern, &mask.low, 8);
    __builtin_memcpy(pattern + 8, &mask.high, 8);
    for (std::uint64_t i = 0; i < count; ++i)
        bytes[i] = static_cast<unsigned char>(bytes[i] ^ pattern[i % 16]);
}

}  // namespace aoti_dbg
