// Reads numbers and structs from the bytes of a file. Such bytes have no alignment and may end anywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>

namespace aoti_dbg {

/// Returns the value at `offset`, or nothing if it does not lie within `bytes` entirely.
template <typename T>
std::optional<T> copy_at(std::span<const std::byte> bytes, std::uint64_t offset) {
    static_assert(std::is_trivially_copyable_v<T>);
    if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

}  // namespace aoti_dbg
