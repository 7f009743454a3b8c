// Elements of any width in groups of 16 bytes, as words of 32 bits.
#pragma once

#include <cstdint>

#include "stats_kernels/device_job.hpp"

namespace aoti_dbg::device {

inline constexpr unsigned kGroups = 4;           // groups that a thread reads per turn
inline constexpr unsigned kWords = kGroups * 4;  // of 32 bits
inline constexpr unsigned kTileGroups = kBlockThreads * kGroups;

template <unsigned kBytes>
struct ElementBits;
template <>
struct ElementBits<1> {
    using Type = unsigned char;
};
template <>
struct ElementBits<2> {
    using Type = unsigned short;
};
template <>
struct ElementBits<4> {
    using Type = unsigned;
};
template <>
struct ElementBits<8> {
    using Type = uint2;
};
template <>
struct ElementBits<16> {
    using Type = uint4;
};

__device__ inline void put(unsigned (&words)[4], unsigned place, unsigned char bits) {
    words[place / 4] |= static_cast<unsigned>(bits) << (place % 4 * 8);
}
__device__ inline void put(unsigned (&words)[4], unsigned place, unsigned short bits) {
    words[place / 2] |= static_cast<unsigned>(bits) << (place % 2 * 16);
}
__device__ inline void put(unsigned (&words)[4], unsigned place, unsigned bits) {
    words[place] = bits;
}
__device__ inline void put(unsigned (&words)[4], unsigned place, uint2 bits) {
    words[place * 2] = bits.x;
    words[place * 2 + 1] = bits.y;
}
__device__ inline void put(unsigned (&words)[4], unsigned, uint4 bits) {
    words[0] = bits.x;
    words[1] = bits.y;
    words[2] = bits.z;
    words[3] = bits.w;
}

/// Uses a 32-bit division if possible. The 64-bit one is a function of some 70 instructions.
__device__ inline std::uint64_t divide(std::uint64_t a, std::uint64_t b) {
    if (((a | b) >> 32U) == 0) return static_cast<std::uint32_t>(a) / static_cast<std::uint32_t>(b);
    return a / b;
}

}  // namespace aoti_dbg::device
