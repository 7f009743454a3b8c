#include "cli/replay/launched.hpp"

#include <algorithm>
#include <cstring>

#include "base/fnv.hpp"
#include "cli/replay/tensor_span.hpp"
#include "stats_kernels/logical_walk.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr std::uint64_t kTensorMapBytes = 128;
/// Kernels may rely on the alignment that their pointers had.
constexpr std::uint64_t kAlignment = 256;

/// Calls `visit(offset of the element in the tensor's memory, offset among contiguous elements)` for pieces
/// that are contiguous in both.
template <typename Visit>
void for_each_piece(const TensorFacts& facts, Visit visit) {
    const std::uint64_t bytes = element_size(facts.measured_dtype);
    const std::uint64_t count = element_count(facts.sizes);
    const Layout layout = collapse(facts.sizes, facts.strides);
    if (layout.is_contiguous()) return visit(0, 0, count * bytes);
    std::vector<std::int64_t> index(layout.rank);
    for (std::uint64_t at = 0; at < count; ++at) {
        std::int64_t offset = 0;
        for (std::uint32_t d = 0; d < layout.rank; ++d)
            offset += index[d] * layout.strides[d];
        visit(static_cast<std::uint64_t>(offset) * bytes, at * bytes, bytes);
        for (std::uint32_t d = layout.rank; d-- > 0 && ++index[d] == layout.sizes[d];)
            index[d] = 0;
    }
}

std::string shape_of(const TensorFacts& facts) {
    std::string text = facts.dtype + "[";
    for (std::size_t d = 0; d < facts.sizes.size(); ++d)
        text += (d == 0 ? "" : ",") + std::to_string(facts.sizes[d]);
    return text + "]";
}

}  // namespace

std::optional<compare::SavedElements> Launched::saved(const LaunchTensor& tensor, EventSide side) {
    ArgumentFacts facts;
    facts.label = tensor.label;
    compare::RecordedTensor recorded;
    recorded.facts = &facts;
    recorded.tensor = &tensor.facts;
    recorded.run = launch_.run;
    recorded.call = launch_.call;
    recorded.side = side;
    recorded.position = tensor.position;
    return tensors_.elements_of(recorded);
}

Launched::Region* Launched::region_of(std::uint64_t address) {
    const auto found = std::ranges::find_if(regions_, [address](const Region& region) {
        return address >= region.begin && address < region.end;
    });
    return found == regions_.end() ? nullptr : &*found;
}

/// Tensors that overlap share a region.
void Launched::find_regions() {
    for (const LaunchTensor& tensor : launch_.tensors)
        if (const std::uint64_t span = span_of(tensor.facts); span != 0)
            regions_.push_back({tensor.address, tensor.address + span, 0, 0, {}, false});
    for (const LaunchParameter& parameter : launch_.parameters) {
        if (parameter.reachable == 0 || parameter.bytes.size() != sizeof(std::uint64_t)) continue;
        std::uint64_t address = 0;
        std::memcpy(&address, parameter.bytes.data(), sizeof address);
        if (region_of(address) == nullptr)
            regions_.push_back({address, address + parameter.reachable, 0, 0, {}, false});
    }
    std::ranges::sort(regions_, {}, &Region::begin);
    std::vector<Region> merged;
    for (const Region& region : regions_) {
        if (!merged.empty() && region.begin < merged.back().end)
            merged.back().end = std::max(merged.back().end, region.end);
        else
            merged.push_back(region);
    }
    regions_ = std::move(merged);
}

Status Launched::fill_regions() {
    for (const LaunchTensor& tensor : launch_.tensors) {
        Region* const region = region_of(tensor.address);
        if (region == nullptr) continue;
        region->contents.resize(region->end - region->begin);
        const std::optional<compare::SavedElements> elements = saved(tensor, EventSide::before);
        if (!elements)
            return Status::error("the contents of " + tensor.label +
                                 " before the launch are not saved. Capture the launch again");
        region->is_known = true;
        std::byte* const to = region->contents.data() + (tensor.address - region->begin);
        for_each_piece(tensor.facts, [&](std::uint64_t offset, std::uint64_t at, std::uint64_t bytes) {
            if (bytes != 0) std::memcpy(to + offset, elements->bytes.data() + at, bytes);
        });
    }
    return {};
}

Status Launched::place_parameters() {
    for (const LaunchParameter& parameter : launch_.parameters) {
        std::vector<std::byte>& bytes = parameters_.emplace_back(parameter.bytes);
        if (bytes.size() == kTensorMapBytes)
            return Status::error(
                "a parameter is a tensor map (TMA), which a replay cannot move to other memory yet");
        if (parameter.tensor.empty() && parameter.reachable == 0) continue;
        std::uint64_t address = 0;
        if (bytes.size() != sizeof address)
            return Status::error("a pointer has a wrong size: the record is damaged");
        std::memcpy(&address, bytes.data(), sizeof address);
        const Region* const region = region_of(address);
        if (region == nullptr) continue;  // of a tensor without elements
        address = region->address + (address - region->begin);
        std::memcpy(bytes.data(), &address, sizeof address);
    }
    return {};
}

Launched::~Launched() {
    for (const Region& region : regions_)
        if (region.allocated != 0) driver_.release(region.allocated);
}

Status Launched::prepare() {
    find_regions();
    if (Status filled = fill_regions(); !filled.ok()) return filled;
    for (Region& region : regions_) {
        const std::uint64_t shift = region.begin % kAlignment;
        const Result<std::uint64_t> address = driver_.allocate(region.end - region.begin + shift);
        if (!address.ok()) return address.status();
        region.allocated = address.value();
        region.address = address.value() + shift;
    }
    return place_parameters();
}

Status Launched::run() {
    for (const Region& region : regions_) {
        const Status written = region.is_known ? driver_.write(region.address, region.contents)
                                               : driver_.clear(region.address, region.end - region.begin);
        if (!written.ok()) return written;
    }
    std::vector<void*> addresses;
    addresses.reserve(parameters_.size());
    for (std::vector<std::byte>& parameter : parameters_)
        addresses.push_back(parameter.data());
    const Status launched = driver_.launch(launch_, addresses.data());
    return launched.ok() ? driver_.synchronize() : launched;
}

Result<std::vector<ReplayedTensor>> Launched::results(std::uint64_t& hash) {
    std::vector<ReplayedTensor> results;
    hash = kFnvBegin;
    for (const LaunchTensor& tensor : launch_.tensors) {
        const Region* const region = region_of(tensor.address);
        if (region == nullptr) continue;
        std::vector<std::byte> found(span_of(tensor.facts));
        const Status read = driver_.read(region->address + (tensor.address - region->begin), found);
        if (!read.ok()) return read;
        hash = fnv1a(std::string_view(reinterpret_cast<const char*>(found.data()), found.size()), hash);
        ReplayedTensor& result = results.emplace_back();
        result.label = tensor.label;
        result.shape = shape_of(tensor.facts);
        result.elements = element_count(tensor.facts.sizes);
        const std::optional<compare::SavedElements> expected = saved(tensor, EventSide::after);
        if (!expected) continue;
        result.different = 0;
        const std::uint64_t size = element_size(tensor.facts.measured_dtype);
        for_each_piece(tensor.facts, [&](std::uint64_t offset, std::uint64_t at, std::uint64_t bytes) {
            if (std::memcmp(found.data() + offset, expected->bytes.data() + at, bytes) == 0) return;
            for (std::uint64_t i = 0; i < bytes; i += size)
                if (std::memcmp(found.data() + offset + i, expected->bytes.data() + at + i, size) != 0 &&
                    (*result.different)++ == 0)
                    result.first = (at + i) / size;
        });
    }
    return results;
}

}  // namespace aoti_dbg::cli
