#include "cli/replay/regions.hpp"

#include <algorithm>
#include <cstring>

#include "cli/replay/tensor_span.hpp"

namespace aoti_dbg::cli {

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
    for (const LaunchParameter& parameter : launch.parameters) {
        if (parameter.reachable == 0 || parameter.bytes.size() != sizeof(std::uint64_t)) continue;
        std::uint64_t address = 0;
        std::memcpy(&address, parameter.bytes.data(), sizeof address);
        if (!region_at(regions, address)) regions.push_back({address, address + parameter.reachable});
    }
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

}  // namespace aoti_dbg::cli
