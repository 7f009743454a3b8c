#include "compare/element_order.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <vector>

namespace aoti_dbg::compare {
namespace {

/// Whether no dimension is before one with a larger stride.
bool is_row_major(const TensorFacts& facts) {
    return std::ranges::is_sorted(facts.strides, std::ranges::greater());
}

bool has_same_layout(const TensorFacts& one, const TensorFacts& other) {
    return one.sizes == other.sizes && one.strides == other.strides;
}

/// Whether one only merges or splits neighboring dimensions of the other, which keeps the order of the
/// elements.
bool is_reshaped(const std::vector<std::int64_t>& one, const std::vector<std::int64_t>& other) {
    const auto ends_of = [](const std::vector<std::int64_t>& sizes) {
        std::vector<std::int64_t> ends;
        std::int64_t all = 1;
        for (auto size = sizes.rbegin(); size != sizes.rend(); ++size)
            if (*size != 1) ends.push_back(all *= *size);
        return ends;
    };
    const std::vector<std::int64_t> ours = ends_of(one);
    const std::vector<std::int64_t> theirs = ends_of(other);
    return std::ranges::includes(ours, theirs) || std::ranges::includes(theirs, ours);
}

/// The sizes, the one with the largest stride first. Empty if the strides are unknown.
std::vector<std::int64_t> sizes_in_memory(const TensorFacts& facts) {
    if (facts.strides.size() != facts.sizes.size()) return {};
    std::vector<std::size_t> order(facts.sizes.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t i) { return facts.strides[i]; });
    std::vector<std::int64_t> sizes;
    sizes.reserve(order.size());
    for (const std::size_t i : order)
        sizes.push_back(facts.sizes[i]);
    return sizes;
}

}  // namespace

Order order_of_given(const TensorFacts& own, const TensorFacts& contiguous) {
    if (is_row_major(own)) return is_reshaped(own.sizes, contiguous.sizes) ? Order::same : Order::unknown;
    const bool is_view = sizes_in_memory(own) == contiguous.sizes;
    // A square one may be a view, or as it was given.
    if (own.sizes == contiguous.sizes) return is_view ? Order::unknown : Order::same;
    return is_view ? Order::permuted : Order::unknown;
}

Order order_of_result(const TensorFacts& own, const TensorFacts& contiguous, const TensorFacts* written) {
    const bool is_as_written =
        written == nullptr || has_same_layout(own, *written) || (is_row_major(own) && is_row_major(*written));
    return is_as_written && is_reshaped(own.sizes, contiguous.sizes) ? Order::same : Order::unknown;
}

}  // namespace aoti_dbg::compare
