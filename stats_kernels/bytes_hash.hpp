// A 128-bit hash over bytes in memory order: two tensors whose saved bytes have the same hash are equal. Each
// group of 16 bytes is mixed with its number, and the results are added. So any thread may hash any part in
// any order, on the host or on a device. It does not resist attackers who construct a collision.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "stats_kernels/content_hash.hpp"

namespace aoti_dbg {

struct BytesHash {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    bool operator==(const BytesHash&) const = default;
};

/// `first` and `second` are the group's bytes as little-endian words. The product depends on the group's
/// place. A factor may be zero, so the words themselves are added too.
AOTI_DBG_HOST_DEVICE inline void add_group(BytesHash& hash, std::uint64_t place, std::uint64_t first,
                                           std::uint64_t second) {
    const std::uint64_t turned = (place << 32U) | (place >> 32U);
    const std::uint64_t a = first ^ place ^ 0x6a09e667f3bcc908ULL;
    const std::uint64_t b = second ^ turned ^ 0xbb67ae8584caa73bULL;
#ifdef __CUDA_ARCH__
    hash.low += a * b + second;
    hash.high += __umul64hi(a, b) + first;
#else
    __extension__ using Wide = unsigned __int128;
    const Wide product = static_cast<Wide>(a) * b;
    hash.low += static_cast<std::uint64_t>(product) + second;
    hash.high += static_cast<std::uint64_t>(product >> 64U) + first;
#endif
}

/// Adds the hash of a part that starts with group `first_group`. Zero bytes fill the last group. Add the
/// results of several parts word by word.
void add_bytes(BytesHash& hash, std::span<const std::byte> bytes, std::uint64_t first_group);

/// Call this once all parts are added. The number of bytes is part of the hash.
AOTI_DBG_HOST_DEVICE inline BytesHash finished(BytesHash hash, std::uint64_t bytes) {
    add_group(hash, ~std::uint64_t{0}, bytes, ~bytes);
    return hash;
}

}  // namespace aoti_dbg
