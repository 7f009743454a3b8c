#include "cli/tensor_elements.hpp"

#include <algorithm>

#include "stats_kernels/logical_walk.hpp"

namespace aoti_dbg::cli {

std::vector<std::byte> elements_in_order(const PtView& view) {
    const std::size_t size = element_size(view.dtype);
    const std::uint64_t count = element_count(view.sizes);
    std::vector<std::byte> elements(count * size);
    if (count == 0) return elements;
    const std::byte* const data = view.storage.data() + static_cast<std::size_t>(view.storage_offset) * size;
    const Layout layout = collapse(view.sizes, view.strides);
    LogicalWalk walk(data, static_cast<std::uint32_t>(size), layout, 0);
    constexpr std::uint64_t kBlock = 1U << 16U;
    for (std::uint64_t at = 0; at < count; at += kBlock)
        walk.gather(static_cast<std::uint32_t>(std::min(kBlock, count - at)),
                    reinterpret_cast<unsigned char*>(elements.data() + at * size));
    return elements;
}

}  // namespace aoti_dbg::cli
