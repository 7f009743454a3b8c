// Counts, merges and sorts the dimensions of tensors. Allocates nothing.
#include "stats_kernels/tensor_view.hpp"

namespace aoti_dbg {

const char* dtype_name(DType dtype) {
    static constexpr const char* kNames[kDTypes] = {
        "float64",        "float32",         "float16",         "bfloat16",
        "float8_e4m3fn",  "float8_e5m2",     "float8_e4m3fnuz", "float8_e5m2fnuz",
        "float8_e8m0fnu", "complex32",       "complex64",       "complex128",
        "int8",           "int16",           "int32",           "int64",
        "uint8",          "uint16",          "uint32",          "uint64",
        "bool",           "float4_e2m1fn_x2"};
    const auto number = static_cast<std::uint32_t>(dtype);
    return number < kDTypes ? kNames[number] : "unknown";
}

std::uint64_t element_count(std::span<const std::int64_t> sizes) {
    std::uint64_t count = 1;
    for (const std::int64_t size : sizes)
        count *= static_cast<std::uint64_t>(size);
    return count;
}

namespace {

/// Copies the dimensions without those of size 1, whose stride is never used.
Layout without_ones(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides) {
    Layout layout;
    for (std::size_t d = 0; d < sizes.size() && layout.rank < kMaxRank; ++d) {
        if (sizes[d] == 1) continue;
        layout.sizes[layout.rank] = sizes[d];
        layout.strides[layout.rank] = strides[d];
        ++layout.rank;
    }
    return layout;
}

/// Returns whether dimension `a` belongs outside of `b`. Expanded dimensions go outermost, so that runs stay
/// long.
bool goes_before(std::int64_t a, std::int64_t b) {
    return b != 0 && (a == 0 || a > b);
}

Layout merged(const Layout& from) {
    Layout layout;
    for (std::uint32_t d = 0; d < from.rank; ++d) {
        const bool continues =
            layout.rank > 0 && layout.strides[layout.rank - 1] == from.strides[d] * from.sizes[d];
        if (continues) {
            layout.sizes[layout.rank - 1] *= from.sizes[d];
            layout.strides[layout.rank - 1] = from.strides[d];
        } else {
            layout.sizes[layout.rank] = from.sizes[d];
            layout.strides[layout.rank] = from.strides[d];
            ++layout.rank;
        }
    }
    return layout;
}

Layout without_elements() {
    Layout layout;
    layout.rank = 1;
    layout.strides[0] = 1;
    return layout;
}

}  // namespace

Layout collapse(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides) {
    if (element_count(sizes) == 0) return without_elements();
    return merged(without_ones(sizes, strides));
}

Layout collapse_in_memory_order(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides) {
    if (element_count(sizes) == 0) return without_elements();
    Layout layout = without_ones(sizes, strides);
    for (std::uint32_t i = 1; i < layout.rank; ++i) {
        const std::int64_t size = layout.sizes[i];
        const std::int64_t stride = layout.strides[i];
        std::uint32_t place = i;
        for (; place > 0 && goes_before(stride, layout.strides[place - 1]); --place) {
            layout.sizes[place] = layout.sizes[place - 1];
            layout.strides[place] = layout.strides[place - 1];
        }
        layout.sizes[place] = size;
        layout.strides[place] = stride;
    }
    return merged(layout);
}

bool lies_in_logical_order(std::span<const std::int64_t> sizes, std::span<const std::int64_t> strides) {
    if (element_count(sizes) == 0) return true;
    const Layout layout = without_ones(sizes, strides);
    for (std::uint32_t d = 1; d < layout.rank; ++d)
        if (goes_before(layout.strides[d], layout.strides[d - 1])) return false;
    return true;
}

}  // namespace aoti_dbg
