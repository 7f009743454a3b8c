// Aligns two sequences: pairs equal elements in order, as many as possible. Its memory is linear in their
// lengths.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace aoti_dbg::compare {

inline constexpr std::size_t kNoPartner = ~std::size_t{0};

/// An element of the first sequence and its partner in the second, or an element without one.
struct Aligned {
    std::size_t first = kNoPartner;
    std::size_t second = kNoPartner;
    bool operator==(const Aligned&) const = default;
};

/// Elements are equal if their keys are.
using Keys = std::vector<std::uint32_t>;

/// Returns every element of both sequences once, in order.
std::vector<Aligned> align(std::span<const std::uint32_t> first, std::span<const std::uint32_t> second);

/// Aligns by the first pair of keys. What has no partner is aligned between its neighbors by the second pair,
/// and so on. All keys of a side have the same length.
std::vector<Aligned> align(std::span<const Keys> first, std::span<const Keys> second);

}  // namespace aoti_dbg::compare
