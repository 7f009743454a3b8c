// Reads numbers and structs from the bytes of a file. Such bytes have no alignment and may end anywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>

namespace aoti_dbg {

/// Returns whether `bytes` bytes from `offset` lie within the first `limit` bytes. Any numbers are valid.
constexpr bool lies_within(std::uint64_t offset, std::uint64_t bytes, std::uint64_t limit) {
    return offset <= limit && bytes <= limit - offset;
}

/// Returns the value at `offset`, or nothing if it does not lie within `bytes` entirely.
template <typename T>
std::optional<T> copy_at(std::span<const std::byte> bytes, std::uint64_t offset) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (!lies_within(offset, sizeof(T), bytes.size())) return std::nullopt;
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

}  // namespace aoti_dbg
