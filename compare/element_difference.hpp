// How the elements of two tensors differ.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "stats_kernels/tensor_view.hpp"

namespace aoti_dbg::compare {

/// Elements are close if |Δ| <= absolute + relative * |the second's|.
struct Closeness {
    double relative = 0;
    double absolute = 0;
};

/// The elements of a tensor in logical order.
struct Elements {
    DType dtype{};
    std::span<const std::byte> bytes;
};

/// The sums of numbers that are finite in both tensors.
struct Sums {
    double sum = 0;
    double squares = 0;
    double minimum = 0;  // with `count`
    double maximum = 0;
    std::uint64_t count = 0;
};

struct ElementDifference {
    /// Of the histogram: below 1e-9, then one for each power of ten, then at least 1.
    static constexpr std::size_t kDecades = 11;

    std::uint64_t elements = 0;
    std::uint64_t different = 0;  // bit by bit, or in value if the dtypes differ
    std::uint64_t beyond = 0;     // numbers that are not close
    std::uint64_t by_one_ulp = 0;
    std::uint64_t nan_in_one = 0;                       // NaN in one tensor, a number in the other
    double largest_absolute = 0;                        // of numbers
    double largest_relative = 0;                        // |Δ| / |the second's|, infinite if that is 0
    std::uint64_t first = 0;                            // logical index of the first that differs
    std::array<std::uint64_t, kDecades> by_relative{};  // numbers that differ
    double squared_differences = 0;                     // of numbers that are finite in both tensors
    Sums ours;
    Sums theirs;
};

/// Both have the same number of elements. Of a complex or packed element, each part counts as a number. NaN
/// is close to NaN.
ElementDifference difference_of(const Elements& first, const Elements& second,
                                const Closeness& closeness = {});

}  // namespace aoti_dbg::compare
