// The elements of a strided tensor: where they are, and copies of them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "serializer/pt_reader.hpp"
#include "stats_kernels/tensor_view.hpp"

namespace aoti_dbg::cli {

/// Copies the elements in logical order.
std::vector<std::byte> elements_in_order(const PtView& view);

/// Visits the offset of each element, in elements.
template <typename Visit>
void for_each_offset(const Layout& layout, Visit visit) {
    std::array<std::int64_t, kMaxRank> index{};
    const std::uint64_t count = element_count({layout.sizes, layout.rank});
    std::int64_t offset = 0;
    for (std::uint64_t i = 0; i < count; ++i) {
        visit(static_cast<std::size_t>(offset));
        for (std::uint32_t d = layout.rank; d-- > 0;) {
            offset += layout.strides[d];
            if (++index[d] < layout.sizes[d]) break;
            offset -= layout.strides[d] * layout.sizes[d];
            index[d] = 0;
        }
    }
}

}  // namespace aoti_dbg::cli
