// The hash of a tensor's contents. Each group of 16 bytes, in logical order, is mixed with its number. The
// sum of all groups does not depend on their order. finish_hash() adds dtype and sizes. README.md gives the
// reasons.
#pragma once

#include <cstdint>

#include "stats_kernels/portable.hpp"

namespace aoti_dbg {

/// The bytes that are hashed together. Zero bytes fill the last group.
inline constexpr std::uint32_t kHashGroupBytes = 16;

AOTI_DBG_HOST_DEVICE inline std::uint64_t folded_product(std::uint64_t a, std::uint64_t b) {
#ifdef __CUDA_ARCH__
    // The GPU has 32-bit multiply-add instructions, so the product takes four of them.
    const std::uint64_t a_low = static_cast<std::uint32_t>(a);
    const std::uint64_t b_low = static_cast<std::uint32_t>(b);
    const std::uint64_t lowest = a_low * b_low;
    const std::uint64_t middle = (a >> 32U) * b_low + (lowest >> 32U);
    const std::uint64_t other = a_low * (b >> 32U) + static_cast<std::uint32_t>(middle);
    const std::uint64_t high = (a >> 32U) * (b >> 32U) + (middle >> 32U) + (other >> 32U);
    return (other << 32U | static_cast<std::uint32_t>(lowest)) ^ high;
#else
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64U);
#endif
}

/// Returns a group's number, spread over 64 bits. The next group's is kHashStep more.
inline constexpr std::uint64_t kHashStep = 0x9e3779b97f4a7c15ULL;
AOTI_DBG_HOST_DEVICE inline std::uint64_t hash_place(std::uint64_t number) {
    return (number + 1) * kHashStep;
}

AOTI_DBG_HOST_DEVICE inline std::uint64_t hash_group_at(std::uint64_t place, std::uint64_t low,
                                                        std::uint64_t high) {
    // The constants have no structure: fractions of the golden ratio, of the square roots of 2 and 3, and of
    // pi.
    const std::uint64_t turned = (place << 32U) | (place >> 32U);
    std::uint64_t mixed =
        folded_product(low ^ place ^ 0x6a09e667f3bcc908ULL, high ^ turned ^ 0xbb67ae8584caa73bULL);
    mixed = (mixed ^ (mixed >> 32U)) * 0x243f6a8885a308d3ULL;
    return mixed ^ (mixed >> 29U);
}

/// `low` and `high` are the group's bytes as little-endian words. The hash is the sum over the groups modulo
/// 2^64.
AOTI_DBG_HOST_DEVICE inline std::uint64_t hash_group(std::uint64_t number, std::uint64_t low,
                                                     std::uint64_t high) {
    return hash_group_at(hash_place(number), low, high);
}

}  // namespace aoti_dbg
