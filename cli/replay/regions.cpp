#include "cli/replay/regions.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "cli/replay/tensor_span.hpp"

namespace aoti_dbg::cli {
namespace {

/// Returns regions by their addresses. Those that overlap become one.
std::vector<Region> merged(std::vector<Region> regions) {
    std::ranges::sort(regions, {}, &Region::begin);
    std::vector<Region> merged;
    for (const Region& region : regions) {
        if (!merged.empty() && region.begin < merged.back().end)
            merged.back().end = std::max(merged.back().end, region.end);
        else
            merged.push_back(region);
    }
    return merged;
}

}  // namespace

std::optional<std::size_t> region_at(const std::vector<Region>& regions, std::uint64_t address) {
    const auto found = std::ranges::find_if(
        regions, [address](const Region& region) { return address >= region.begin && address < region.end; });
    if (found == regions.end()) return std::nullopt;
    return static_cast<std::size_t>(found - regions.begin());
}

std::vector<Region> regions_of(const LaunchRecord& launch) {
    std::vector<Region> regions;
    for (const LaunchTensor& tensor : launch.tensors)
        if (const std::uint64_t span = span_of(tensor.facts); span != 0)
            regions.push_back({tensor.address, tensor.address + span});
    regions = merged(std::move(regions));
    const std::vector<Region> tensors = regions;
    for (const LaunchParameter& parameter : launch.parameters) {
        if (parameter.reachable == 0 || parameter.bytes.size() != sizeof(std::uint64_t)) continue;
        std::uint64_t address = 0;
        std::memcpy(&address, parameter.bytes.data(), sizeof address);
        if (region_at(tensors, address)) continue;
        // An allocator's block reaches beyond what the launch uses of it.
        const auto next = std::ranges::upper_bound(tensors, address, {}, &Region::begin);
        const std::uint64_t end = address + parameter.reachable;
        regions.push_back({address, next == tensors.end() ? end : std::min(end, next->begin)});
    }
    return merged(std::move(regions));
}

}  // namespace aoti_dbg::cli
