// The hash of a tensor's content. Each group of 16 bytes, in logical order, is mixed with its number; the sum
// of all groups does not depend on who came first. finish_hash() adds what the tensor is. README.md has the
// why.
#pragma once

#include <cstdint>

#include "stats_kernels/portable.hpp"

namespace aoti_dbg {

/// Elements that are hashed together: those of 16 bytes. The last group is filled up with zero bytes.
inline constexpr std::uint32_t kHashGroupBytes = 16;

AOTI_DBG_HOST_DEVICE inline std::uint64_t folded_product(std::uint64_t a, std::uint64_t b) {
#ifdef __CUDA_ARCH__
    return (a * b) ^ __umul64hi(a, b);
#else
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64U);
#endif
}

/// `low` and `high` are the group's bytes as little-endian words. Summed modulo 2^64 over the groups.
AOTI_DBG_HOST_DEVICE inline std::uint64_t hash_group(std::uint64_t number, std::uint64_t low,
                                                     std::uint64_t high) {
    // Fractions of the golden ratio, of the square roots of 2 and 3, and of pi: no structure of their own.
    const std::uint64_t place = (number + 1) * 0x9e3779b97f4a7c15ULL;
    const std::uint64_t turned = (place << 32U) | (place >> 32U);
    std::uint64_t mixed =
        folded_product(low ^ place ^ 0x6a09e667f3bcc908ULL, high ^ turned ^ 0xbb67ae8584caa73bULL);
    mixed = (mixed ^ (mixed >> 32U)) * 0x243f6a8885a308d3ULL;
    return mixed ^ (mixed >> 29U);
}

}  // namespace aoti_dbg
