#include "model/allocation_names.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <set>

#include "model/list_parts.hpp"

namespace aoti_dbg {
namespace {

constexpr std::int64_t kSymbolic = -1;

/// Parses "12L".
std::int64_t size_of(std::string_view text) {
    while (!text.empty() && text.back() == 'L')
        text.remove_suffix(1);
    std::int64_t size = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), size);
    return read.ec == std::errc() && read.ptr == text.data() + text.size() ? size : kSymbolic;
}

/// Parses "{s77, 12L}".
std::vector<std::int64_t> sizes_in(std::string_view text) {
    std::vector<std::int64_t> sizes;
    for (const std::string& part : list_parts(text).value_or(std::vector<std::string>()))
        sizes.push_back(size_of(part));
    return sizes;
}

/// Copies are not intercepted at run time.
bool is_seen(const CallSite& site) {
    return site.kind != SiteKind::copy;
}

/// Returns whether every run makes the same calls and creates the same tensors in sequence. Only copies of
/// misaligned inputs are in branches, and they count as neither.
bool is_straight(const RunBody& body) {
    return std::none_of(body.sites.begin(), body.sites.end(),
                        [](const CallSite& site) { return is_seen(site) && site.region != kNone; }) &&
           std::none_of(body.allocations.begin(), body.allocations.end(),
                        [](const Allocation& allocation) { return allocation.region != kNone; });
}

/// The later names of a tensor's memory, and whether another handle shares it.
struct Later {
    std::size_t names = 0;
    std::string_view last;
    bool is_shared = false;
};

NamedTensor named(const std::string& name, const Later& later) {
    if (later.names == 0) return {name, !later.is_shared};
    // If there are several names, show the last one, which is current at the end.
    return {name + (later.names == 1 ? " (later " : " (.. ") + std::string(later.last) + ")",
            !later.is_shared};
}

/// Maps all names of a piece of memory to its first name.
class SharedNames {
  public:
    explicit SharedNames(const RunBody& body) {
        for (const SharedMemory& shared : body.shared_memory) {
            const std::string_view first = first_of(shared.of);
            firsts_[shared.name] = first;
            Later& later = later_[first];
            ++later.names;
            later.last = shared.name;
            later.is_shared |= shared.how != SharedMemory::How::moved;
        }
        for (const TensorName& output : body.outputs)
            if (output.view) later_[first_of(output.name)].is_shared = true;
    }

    [[nodiscard]] std::string_view first_of(std::string_view name) const {
        const auto known = firsts_.find(name);
        return known == firsts_.end() ? name : known->second;
    }
    /// The map's keys are first names.
    [[nodiscard]] const std::map<std::string_view, Later>& later() const { return later_; }

  private:
    std::map<std::string_view, Later> later_;
    std::map<std::string_view, std::string_view> firsts_;
};

/// Returns the tensors that a run creates, by first name.
std::set<std::string_view> names_in(const WrapperInfo& info, const SharedNames& shared) {
    std::set<std::string_view> names;
    for (const CallSite& site : info.run.sites)
        for (const Argument& argument : site.arguments)
            for (const TensorName& tensor : argument.tensors)
                names.insert(shared.first_of(tensor.name));
    for (const std::string& input : info.inputs)
        names.erase(input);
    for (const ConstantInfo& constant : info.constants)
        names.erase(constant.name);
    for (const Allocation& allocation : info.run.allocations)
        names.insert(allocation.name);
    return names;
}

/// Returns whether the source describes all of a run, including its outputs.
bool is_fully_described(const WrapperInfo& info) {
    const std::vector<TensorName>& outputs = info.run.outputs;
    return info.is_complete && (info.output_names.empty() || info.output_names.size() == outputs.size()) &&
           std::none_of(outputs.begin(), outputs.end(),
                        [](const TensorName& output) { return output.name.empty(); });
}

/// Maps first names to the call site before which a run frees the tensor. kNone means an output.
std::map<std::string_view, std::uint32_t> ends_in(const RunBody& body, const SharedNames& shared) {
    std::map<std::string_view, std::uint32_t> ends;
    for (const TensorName& output : body.outputs)
        ends[shared.first_of(output.name)] = kNone;
    for (const Free& free : body.frees)
        ends[shared.first_of(free.name)] = free.before;
    return ends;
}

}  // namespace

AllocationNames::AllocationNames(const WrapperInfo& info) {
    const RunBody& body = info.run;
    const SharedNames shared(body);
    for (const auto& [name, later] : shared.later())
        known_.emplace(name, named(std::string(name), later));
    // If a run may fold constants, it creates tensors outside of its body before the first call.
    if (!is_straight(body) || !info.folding.sites.empty() || !info.folding.allocations.empty()) return;
    for (const std::string_view name : names_in(info, shared))
        known_.emplace(name, NamedTensor{std::string(name)});
    // In an incomplete source, a missing free says nothing about the end of a tensor.
    if (is_fully_described(info))
        plan_ends(ends_in(body, shared), static_cast<std::uint32_t>(body.sites.size()));
    for (const Allocation& allocation : body.allocations) {
        if (!allocation.pool.empty()) continue;  // part of a tensor that is already listed
        entries_.push_back(
            {&known_.find(allocation.name)->second, allocation.before, sizes_in(allocation.sizes)});
    }
    Before before;
    for (std::uint32_t site = 0; site <= body.sites.size(); ++site) {
        while (before.entries < entries_.size() && entries_[before.entries].before < site)
            ++before.entries;
        before_.push_back(before);
        if (site < body.sites.size() && is_seen(body.sites[site])) ++before.calls;
    }
}

void AllocationNames::plan_ends(const std::map<std::string_view, std::uint32_t>& ends, std::uint32_t last) {
    for (auto& [name, tensor] : known_) {
        if (!tensor.has_one_owner) continue;
        tensor.number = numbers_++;
        const auto end = ends.find(name);
        const std::uint32_t before = end == ends.end() ? last : end->second;
        if (before != kNone) freed_.push_back({before, tensor.number});
    }
    std::sort(freed_.begin(), freed_.end(),
              [](const FreedTensor& left, const FreedTensor& right) { return left.before < right.before; });
}

bool AllocationNames::is_last(std::uint32_t behind) const {
    const std::uint32_t next = behind == kNone ? 0 : behind + 1;
    return next < before_.size() && before_[next].calls == before_.back().calls;
}

const NamedTensor* AllocationNames::find(std::uint32_t behind, std::uint32_t nth,
                                         std::span<const std::int64_t> sizes) const {
    const std::uint32_t next = behind == kNone ? 0 : behind + 1;
    if (next >= before_.size() || entries_.size() - before_[next].entries <= nth) return nullptr;
    const Entry& entry = entries_[before_[next].entries + nth];
    // An intercepted call should have come first, so this is an extra tensor, like the scratch buffers of
    // launches.
    if (before_[entry.before].calls != before_[next].calls) return nullptr;
    const bool is_it =
        std::equal(entry.sizes.begin(), entry.sizes.end(), sizes.begin(), sizes.end(),
                   [](std::int64_t said, std::int64_t seen) { return said == kSymbolic || said == seen; });
    return is_it ? entry.tensor : nullptr;
}

const NamedTensor* AllocationNames::returned(std::string_view name) const {
    const auto known = known_.find(name);
    return known == known_.end() ? nullptr : &known->second;
}

}  // namespace aoti_dbg
