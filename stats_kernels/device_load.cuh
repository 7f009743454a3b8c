// Reading a tensor on the device by groups of 16 bytes in logical order. The fast way, whole aligned tiles,
// is in device_sweep.cuh; here is everything else: ends, any alignment, any strides. Never reads what no
// element covers.
#pragma once

#include "stats_kernels/content_hash.hpp"
#include "stats_kernels/device_block.cuh"

namespace aoti_dbg::device {

inline constexpr unsigned kGroups = 4;           // that a thread reads in one turn
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

/// 32-bit divisions where they do: the 64-bit one is a function of some 70 instructions.
__device__ inline std::uint64_t divide(std::uint64_t a, std::uint64_t b) {
    if (((a | b) >> 32U) == 0) return static_cast<std::uint32_t>(a) / static_cast<std::uint32_t>(b);
    return a / b;
}

struct Place {
    std::int64_t offset;  // in elements
    std::int64_t inner;   // index in the innermost dimension
};

__device__ __noinline__ Place place_of(std::uint64_t index) {
    const DeviceDim* dims = shared_dims();
    const int rank = shared_job().rank;
    Place place{0, 0};
    for (int d = rank - 1; d >= 0; --d) {
        const auto size = static_cast<std::uint64_t>(dims[d].size);
        const std::uint64_t rest = divide(index, size);
        const auto within = static_cast<std::int64_t>(index - rest * size);
        place.offset += within * dims[d].stride;
        if (d == rank - 1) place.inner = within;
        index = rest;
    }
    return place;
}

/// Elements of `kBytes` that lie anywhere. The loads are independent of one another: all are under way at
/// once.
template <unsigned kBytes>
__device__ uint4 gather(std::uint64_t first, unsigned count) {
    using Bits = typename ElementBits<kBytes>::Type;
    constexpr unsigned kElements = 16 / kBytes;
    const DeviceJob& job = shared_job();
    const auto* data = reinterpret_cast<const Bits*>(job.data);
    const DeviceDim inner = shared_dims()[job.rank - 1];
    Place place = place_of(first);
    Bits bits[kElements];
#pragma unroll
    for (unsigned i = 0; i < kElements; ++i) {
        bits[i] = Bits{};
        if (i >= count) continue;
        if (place.inner == inner.size) place = place_of(first + i);
        bits[i] = data[place.offset];
        place.offset += inner.stride;
        ++place.inner;
    }
    unsigned words[4] = {0, 0, 0, 0};
#pragma unroll
    for (unsigned i = 0; i < kElements; ++i)
        put(words, i, bits[i]);
    return make_uint4(words[0], words[1], words[2], words[3]);
}

/// `count` pieces of the type's width that lie one after the other.
template <typename Bits>
__device__ uint4 load_run(const unsigned char* from, unsigned count) {
    constexpr unsigned kPieces = 16 / sizeof(Bits);
    const auto* pieces = reinterpret_cast<const Bits*>(from);
    Bits bits[kPieces];
#pragma unroll
    for (unsigned i = 0; i < kPieces; ++i)
        bits[i] = i < count ? pieces[i] : Bits{};
    unsigned words[4] = {0, 0, 0, 0};
#pragma unroll
    for (unsigned i = 0; i < kPieces; ++i)
        put(words, i, bits[i]);
    return make_uint4(words[0], words[1], words[2], words[3]);
}

__device__ inline uint4 load_bytes(const unsigned char* from, unsigned bytes) {
    const unsigned ends = static_cast<unsigned>(reinterpret_cast<std::uint64_t>(from) & 15U) | bytes;
    if (ends % 16 == 0) return load_run<uint4>(from, bytes / 16);
    if (ends % 8 == 0) return load_run<uint2>(from, bytes / 8);
    if (ends % 4 == 0) return load_run<unsigned>(from, bytes / 4);
    if (ends % 2 == 0) return load_run<unsigned short>(from, bytes / 2);
    return load_run<unsigned char>(from, bytes);
}

__device__ inline uint4 load_group(std::uint64_t first, unsigned count, unsigned bytes) {
    const DeviceJob& job = shared_job();
    if (job.rank == 0)
        return load_bytes(reinterpret_cast<const unsigned char*>(job.data) + first * bytes, count * bytes);
    switch (bytes) {
        case 1:
            return gather<1>(first, count);
        case 2:
            return gather<2>(first, count);
        case 4:
            return gather<4>(first, count);
        case 8:
            return gather<8>(first, count);
        default:
            return gather<16>(first, count);
    }
}

/// A thread's groups of a tile, of which not all are there or none lies where a vector load could take it.
struct RaggedTurn {
    uint4 groups[kGroups];
    unsigned valid;  // elements: always the first, since only the last group of a tensor is not whole
    unsigned long long hash;  // of the groups as they are
};

/// Elements that are not there are copies of the first one: they change no extreme and no distance from it.
__device__ inline void repeat_first(RaggedTurn& turn, unsigned bytes) {
    auto* raw = reinterpret_cast<unsigned char*>(turn.groups);
    for (unsigned i = turn.valid * bytes; i < kWords * 4; ++i)
        raw[i] = raw[i % bytes];
}

/// One function for all dtypes; through memory, so that the callers' registers stay free of it.
__device__ __noinline__ void load_ragged(std::uint64_t first_group, RaggedTurn& turn) {
    const DeviceJob& job = shared_job();
    const bool with_hash = wants(job.wanted, Wanted::hash);
    const unsigned bytes = element_size(job.dtype);
    const unsigned elements = 16 / bytes;
    turn.valid = 0;
    turn.hash = 0;
    for (unsigned k = 0; k < kGroups; ++k) {
        const std::uint64_t number = first_group + std::uint64_t{k} * kBlockThreads;
        const std::uint64_t first = number * elements;
        if (first >= job.count) break;
        const std::uint64_t left = job.count - first;
        const unsigned count = left < elements ? static_cast<unsigned>(left) : elements;
        const uint4 group = load_group(first, count, bytes);
        turn.groups[k] = group;
        turn.valid += count;
        if (with_hash)
            turn.hash += hash_group(number, std::uint64_t{group.y} << 32U | group.x,
                                    std::uint64_t{group.w} << 32U | group.z);
    }
    if (turn.valid > 0 && turn.valid < kGroups * elements) repeat_first(turn, bytes);
}

}  // namespace aoti_dbg::device
