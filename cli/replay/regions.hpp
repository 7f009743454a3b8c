// The memory that a captured launch reaches, at the addresses of the capture.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "serializer/launch_record.hpp"

namespace aoti_dbg::cli {

/// Memory of tensors that overlap, or of one pointer to other memory.
struct Region {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
    [[nodiscard]] std::uint64_t bytes() const { return end - begin; }
};

/// Returns the regions by their addresses. That of a pointer to other memory ends before the next tensor.
std::vector<Region> regions_of(const LaunchRecord& launch);

/// Returns the index of the region that contains the address.
std::optional<std::size_t> region_at(const std::vector<Region>& regions, std::uint64_t address);

}  // namespace aoti_dbg::cli
