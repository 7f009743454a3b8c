// The memory that a captured tensor reaches.
#pragma once

#include <cstdint>

#include "serializer/measured_event.hpp"

namespace aoti_dbg::cli {

/// Returns the bytes from its first element to the end of its last one.
inline std::uint64_t span_of(const TensorFacts& facts) {
    std::uint64_t last = 0;
    for (std::size_t d = 0; d < facts.sizes.size(); ++d) {
        if (facts.sizes[d] == 0) return 0;
        last += static_cast<std::uint64_t>(facts.sizes[d] - 1) * static_cast<std::uint64_t>(facts.strides[d]);
    }
    return (last + 1) * element_size(facts.measured_dtype);
}

}  // namespace aoti_dbg::cli
