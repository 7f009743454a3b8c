// How the elements of two tensors differ.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "stats_kernels/tensor_view.hpp"

namespace aoti_dbg::compare {

struct ElementDifference {
    std::uint64_t elements = 0;
    std::uint64_t different = 0;  // bit by bit
    std::uint64_t by_one_ulp = 0;
    std::uint64_t nan_in_one = 0;  // NaN in one tensor, a number in the other
    double largest_absolute = 0;   // of numbers
    std::uint64_t first = 0;       // logical index of the first that differs
};

/// Both have the same number of elements, in logical order. Of a complex element, each part counts as a
/// number.
ElementDifference difference_of(DType dtype, std::span<const std::byte> first,
                                std::span<const std::byte> second);

}  // namespace aoti_dbg::compare
