#include "cli/replay/launched.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "base/fnv.hpp"
#include "cli/replay/tensor_span.hpp"
#include "cli/tensor_elements.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr std::uint64_t kTensorMapBytes = 128;

/// Calls `visit(offset of the element in the tensor's memory, offset among contiguous elements)` for pieces
/// that are contiguous in both.
template <typename Visit>
void for_each_piece(const TensorFacts& facts, Visit visit) {
    const std::uint64_t bytes = element_size(facts.measured_dtype);
    const Layout layout = collapse(facts.sizes, facts.strides);
    if (layout.is_contiguous()) return visit(0, 0, element_count(facts.sizes) * bytes);
    std::uint64_t at = 0;
    for_each_offset(layout, [&](std::size_t offset) {
        visit(offset * bytes, at, bytes);
        at += bytes;
    });
}

}  // namespace

std::string shape_of(const TensorFacts& facts) {
    std::string text = facts.dtype + "[";
    for (std::size_t d = 0; d < facts.sizes.size(); ++d)
        text += (d == 0 ? "" : ",") + std::to_string(facts.sizes[d]);
    return text + "]";
}

bool is_uninitialized(const LaunchRecord& launch, const LaunchTensor& tensor) {
    const auto is_of_tensor = [&](const LaunchArgument& argument) {
        return std::ranges::find(argument.labels, tensor.label) != argument.labels.end();
    };
    const auto reads = [&](const LaunchArgument& argument) {
        return is_of_tensor(argument) && argument.role != Role::writes && argument.role != Role::makes;
    };
    return tensor.is_unwritten || (std::ranges::any_of(launch.arguments, is_of_tensor) &&
                                   std::ranges::none_of(launch.arguments, reads));
}

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

Status Launched::read_contents() {
    contents_.resize(regions_.size());
    for (const LaunchTensor& tensor : launch_.tensors) {
        const std::optional<std::size_t> region = region_at(regions_, tensor.address);
        if (!region) continue;
        std::vector<std::byte>& contents = contents_[*region];
        if (contents.empty()) contents.assign(regions_[*region].bytes(), background());
        if (options_.poison && is_uninitialized(launch_, tensor)) continue;
        const std::optional<compare::SavedElements> elements = saved(tensor, EventSide::before);
        if (!elements)
            return Status::error("the contents of " + tensor.label +
                                 " before the launch are not saved. Capture the launch again");
        std::byte* const to = contents.data() + (tensor.address - regions_[*region].begin);
        for_each_piece(tensor.facts, [&](std::uint64_t offset, std::uint64_t at, std::uint64_t bytes) {
            if (bytes != 0) std::memcpy(to + offset, elements->bytes.data() + at, bytes);
        });
    }
    return {};
}

std::optional<std::uint64_t> Launched::moved(std::uint64_t address) const {
    const std::optional<std::size_t> region = region_at(regions_, address);
    if (!region) return std::nullopt;
    return placement_.address_of(*region) + (address - regions_[*region].begin);
}

Status Launched::place_parameters() {
    for (const LaunchParameter& parameter : launch_.parameters) {
        std::vector<std::byte>& bytes = parameters_.emplace_back(parameter.bytes);
        if (placement_.is_as_captured()) continue;
        const bool is_map = bytes.size() == kTensorMapBytes;
        if (!is_map && parameter.tensor.empty() && parameter.reachable == 0) continue;
        std::uint64_t address = 0;
        if (!is_map && bytes.size() != sizeof address)
            return Status::error("a pointer has a wrong size: the record is damaged");
        // A tensor map begins with the address of its tensor.
        std::memcpy(&address, bytes.data(), sizeof address);
        const std::optional<std::uint64_t> here = moved(address);
        if (is_map && !here)
            return Status::error(
                "a parameter is a tensor map (TMA) of memory that is not captured, which a replay cannot "
                "move");
        if (here) std::memcpy(bytes.data(), &*here, sizeof address);  // else a tensor without elements
    }
    return {};
}

Status Launched::prepare() {
    regions_ = regions_of(launch_);
    if (Status read = read_contents(); !read.ok()) return read;
    if (Status placed = placement_.place(regions_, options_.placement); !placed.ok()) return placed;
    return place_parameters();
}

Status Launched::restore() {
    if (Status filled = placement_.fill(background()); !filled.ok()) return filled;
    for (std::size_t i = 0; i < regions_.size(); ++i) {
        if (contents_[i].empty()) continue;
        if (Status written = driver_.write(placement_.address_of(i), contents_[i]); !written.ok())
            return written;
    }
    return {};
}

std::vector<void*> Launched::parameter_addresses() {
    std::vector<void*> addresses;
    addresses.reserve(parameters_.size());
    for (std::vector<std::byte>& parameter : parameters_)
        addresses.push_back(parameter.data());
    return addresses;
}

Status Launched::begin() {
    if (Status restored = restore(); !restored.ok()) return restored;
    return driver_.launch(launch_, parameter_addresses().data());
}

Status Launched::run() {
    const Status begun = begin();
    return begun.ok() ? driver_.synchronize() : begun;
}

Result<float> Launched::time(std::uint32_t count) {
    return driver_.time(launch_, parameter_addresses().data(), count);
}

std::uint64_t Launched::bytes() const {
    return std::accumulate(regions_.begin(), regions_.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const Region& region) { return sum + region.bytes(); });
}

Result<std::vector<std::byte>> Launched::elements(const LaunchTensor& tensor) {
    std::vector<std::byte> memory(span_of(tensor.facts));
    if (memory.empty()) return memory;
    if (Status read = driver_.read(address_of(tensor), memory); !read.ok()) return read;
    std::vector<std::byte> elements(element_count(tensor.facts.sizes) *
                                    element_size(tensor.facts.measured_dtype));
    for_each_piece(tensor.facts, [&](std::uint64_t offset, std::uint64_t at, std::uint64_t bytes) {
        std::memcpy(elements.data() + at, memory.data() + offset, bytes);
    });
    return elements;
}

Result<LaunchResults> Launched::unrecorded() {
    LaunchResults results(launch_.tensors.size());
    for (std::size_t i = 0; i < results.size(); ++i) {
        if (saved(launch_.tensors[i], EventSide::after)) continue;
        Result<std::vector<std::byte>> found = elements(launch_.tensors[i]);
        if (!found.ok()) return found.status();
        results[i] = std::move(found.value());
    }
    return results;
}

std::optional<compare::SavedElements> Launched::expected(const LaunchTensor& tensor) {
    std::optional<compare::SavedElements> recorded = saved(tensor, EventSide::after);
    if (recorded || options_.unpoisoned == nullptr || options_.unpoisoned->empty()) return recorded;
    const std::vector<std::byte>& found =
        (*options_.unpoisoned)[static_cast<std::size_t>(&tensor - launch_.tensors.data())];
    if (found.empty()) return std::nullopt;
    return compare::SavedElements{found, nullptr};
}

void Launched::compare(const LaunchTensor& tensor, std::span<const std::byte> found, ReplayedTensor& result) {
    const std::optional<compare::SavedElements> expected = this->expected(tensor);
    if (!expected) return;
    result.different = 0;
    result.is_recorded = saved(tensor, EventSide::after).has_value();
    const std::uint64_t size = element_size(tensor.facts.measured_dtype);
    std::optional<compare::SavedElements> before;
    if (options_.poison && is_uninitialized(launch_, tensor)) before = saved(tensor, EventSide::before);
    // Arithmetic can pass poison on unchanged, as with NaN. Then the recorded launch did change the element.
    const auto is_unwritten = [&](std::span<const std::byte> element, std::uint64_t at) {
        return before &&
               std::ranges::all_of(element, [&](std::byte byte) { return byte == *options_.poison; }) &&
               std::memcmp(before->bytes.data() + at, expected->bytes.data() + at, size) == 0;
    };
    const auto is_close = [&](std::span<const std::byte> element, std::uint64_t at) {
        const DType dtype = tensor.facts.measured_dtype;
        return options_.tolerance &&
               compare::difference_of({dtype, element}, {dtype, expected->bytes.subspan(at, size)},
                                      *options_.tolerance)
                       .beyond == 0;
    };
    for_each_piece(tensor.facts, [&](std::uint64_t offset, std::uint64_t at, std::uint64_t bytes) {
        if (std::memcmp(found.data() + offset, expected->bytes.data() + at, bytes) == 0) return;
        for (std::uint64_t i = 0; i < bytes; i += size) {
            const std::span<const std::byte> element = found.subspan(offset + i, size);
            if (std::memcmp(element.data(), expected->bytes.data() + at + i, size) == 0) continue;
            if (is_close(element, at + i)) continue;
            if (is_unwritten(element, at + i))
                ++result.poisoned;
            else if ((*result.different)++ == 0)
                result.first = (at + i) / size;
        }
    });
}

Result<std::vector<ReplayedTensor>> Launched::results(std::uint64_t& hash) {
    std::vector<ReplayedTensor> results;
    hash = kFnvBegin;
    for (const LaunchTensor& tensor : launch_.tensors) {
        const std::uint64_t address = address_of(tensor);
        if (address == 0) continue;
        std::vector<std::byte> found(span_of(tensor.facts));
        if (Status read = driver_.read(address, found); !read.ok()) return read;
        hash = fnv1a(std::string_view(reinterpret_cast<const char*>(found.data()), found.size()), hash);
        ReplayedTensor& result = results.emplace_back();
        result.label = tensor.label;
        result.shape = shape_of(tensor.facts);
        result.elements = element_count(tensor.facts.sizes);
        compare(tensor, found, result);
    }
    return results;
}

}  // namespace aoti_dbg::cli
