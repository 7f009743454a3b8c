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

/// "12L"
std::int64_t size_of(std::string_view text) {
    while (!text.empty() && text.back() == 'L')
        text.remove_suffix(1);
    std::int64_t size = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), size);
    return read.ec == std::errc() && read.ptr == text.data() + text.size() ? size : kSymbolic;
}

/// "{s77, 12L}"
std::vector<std::int64_t> sizes_in(std::string_view text) {
    std::vector<std::int64_t> sizes;
    for (const std::string& part : list_parts(text).value_or(std::vector<std::string>()))
        sizes.push_back(size_of(part));
    return sizes;
}

/// Copies are not seen at run time.
bool is_seen(const CallSite& site) {
    return site.kind != CallKind::copy;
}

/// Whether each run makes the same calls, and tensors, one after the other. Copies of inputs that are not
/// aligned stand in branches, but are neither.
bool is_straight(const RunBody& body) {
    return std::none_of(body.sites.begin(), body.sites.end(),
                        [](const CallSite& site) { return is_seen(site) && site.region != kNone; }) &&
           std::none_of(body.allocations.begin(), body.allocations.end(),
                        [](const Allocation& allocation) { return allocation.region != kNone; });
}

/// Under which names the memory of a tensor goes on, and whether by a handle of another.
struct Later {
    std::size_t names = 0;
    std::string_view last;
    bool is_shared = false;
};

NamedTensor named(const std::string& name, const Later& later) {
    if (later.names == 0) return {name, !later.is_shared};
    // Of several the last, which is what it is in the end.
    return {name + (later.names == 1 ? " (later " : " (.. ") + std::string(later.last) + ")",
            !later.is_shared};
}

/// Which names stand for one piece of memory, one after the other or at once.
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
    /// By first names.
    [[nodiscard]] const std::map<std::string_view, Later>& later() const { return later_; }

  private:
    std::map<std::string_view, Later> later_;
    std::map<std::string_view, std::string_view> firsts_;
};

/// The tensors that a run makes, by the first of their names.
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

/// Whether the source tells all of a run, its outputs too.
bool is_reported(const WrapperInfo& info) {
    const std::vector<TensorName>& outputs = info.run.outputs;
    return info.is_complete && (info.output_names.empty() || info.output_names.size() == outputs.size()) &&
           std::none_of(outputs.begin(), outputs.end(),
                        [](const TensorName& output) { return output.name.empty(); });
}

/// Before which call site a run lets go of a tensor, by first names; kNone: it gives it out.
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
    // Where a run may fold constants, tensors are made before its first call that are not of its body.
    if (!is_straight(body) || !info.folding.sites.empty() || !info.folding.allocations.empty()) return;
    for (const std::string_view name : names_in(info, shared))
        known_.emplace(name, NamedTensor{std::string(name)});
    // Else nobody knows whether what is not told was the end of a tensor.
    if (is_reported(info)) plan_ends(ends_in(body, shared), static_cast<std::uint32_t>(body.sites.size()));
    for (const Allocation& allocation : body.allocations) {
        if (!allocation.pool.empty()) continue;  // a part of one that is in here
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
    // A call that is seen would have come first: this one is made besides, as launches make scratch buffers.
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
