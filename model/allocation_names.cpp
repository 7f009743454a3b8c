#include "model/allocation_names.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>

namespace aoti_dbg {
namespace {

constexpr std::int64_t kSymbolic = -1;

std::string_view without_blanks(std::string_view text) {
    while (!text.empty() && text.front() == ' ')
        text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ')
        text.remove_suffix(1);
    return text;
}

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
    if (text.size() < 2 || text.front() != '{') return sizes;
    text = text.substr(1, text.size() - 2);
    while (!without_blanks(text).empty()) {
        const std::size_t comma = std::min(text.find(','), text.size());
        sizes.push_back(size_of(without_blanks(text.substr(0, comma))));
        text.remove_prefix(std::min(comma + 1, text.size()));
    }
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

std::map<std::string_view, Later> later_names(const RunBody& body) {
    std::map<std::string_view, Later> all;
    std::map<std::string_view, std::string_view> firsts;
    const auto first_of = [&firsts](const std::string& name) {
        const auto known = firsts.find(name);
        return known == firsts.end() ? std::string_view(name) : known->second;
    };
    for (const SharedMemory& shared : body.shared_memory) {
        const std::string_view first = first_of(shared.of);
        firsts[shared.name] = first;
        Later& later = all[first];
        ++later.names;
        later.last = shared.name;
        later.is_shared |= shared.how != SharedMemory::How::moved;
    }
    for (const TensorName& output : body.outputs)
        if (output.view) all[first_of(output.name)].is_shared = true;
    return all;
}

}  // namespace

AllocationNames::AllocationNames(const WrapperInfo& info) {
    const RunBody& body = info.run;
    const std::map<std::string_view, Later> later = later_names(body);
    for (const auto& [name, names] : later)
        shared_.emplace(name, named(std::string(name), names));
    // Where a run may fold constants, tensors are made before its first call that are not of its body.
    if (!is_straight(body) || !info.folding.sites.empty() || !info.folding.allocations.empty()) return;
    for (const Allocation& allocation : body.allocations) {
        if (!allocation.pool.empty()) continue;  // a part of one that is in here
        const NamedTensor* const known = returned(allocation.name);
        entries_.push_back({known == nullptr ? NamedTensor{allocation.name} : *known, allocation.before,
                            sizes_in(allocation.sizes)});
    }
    Before before;
    for (std::uint32_t site = 0; site <= body.sites.size(); ++site) {
        while (before.entries < entries_.size() && entries_[before.entries].before < site)
            ++before.entries;
        before_.push_back(before);
        if (site < body.sites.size() && is_seen(body.sites[site])) ++before.calls;
    }
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
    return is_it ? &entry.tensor : nullptr;
}

const NamedTensor* AllocationNames::returned(std::string_view name) const {
    const auto known = shared_.find(name);
    return known == shared_.end() ? nullptr : &known->second;
}

}  // namespace aoti_dbg
