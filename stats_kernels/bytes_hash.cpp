#include "stats_kernels/bytes_hash.hpp"

#include <cstring>

namespace aoti_dbg {
namespace {

constexpr std::ptrdiff_t kTwoGroups = std::ptrdiff_t{2} * kHashGroupBytes;

}  // namespace

void add_bytes(BytesHash& hash, std::span<const std::byte> bytes, std::uint64_t first_group) {
    // Use two sums, because a single one would be a dependency chain.
    BytesHash even;
    BytesHash odd;
    std::uint64_t place = hash_place(first_group);
    const std::byte* at = bytes.data();
    const std::byte* const end = at + bytes.size();
    std::uint64_t words[4];
    for (; end - at >= kTwoGroups; at += kTwoGroups, place += 2 * kHashStep) {
        std::memcpy(words, at, sizeof words);
        add_group(even, place, words[0], words[1]);
        add_group(odd, place + kHashStep, words[2], words[3]);
    }
    for (; at < end; place += kHashStep) {
        const std::size_t left = static_cast<std::size_t>(end - at);
        const std::size_t length = left < kHashGroupBytes ? left : kHashGroupBytes;
        words[0] = words[1] = 0;
        std::memcpy(words, at, length);
        add_group(even, place, words[0], words[1]);
        at += length;
    }
    hash.low += even.low + odd.low;
    hash.high += even.high + odd.high;
}

}  // namespace aoti_dbg
