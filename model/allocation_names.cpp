#include "model/allocation_names.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <map>
#include <string_view>

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

/// Whether the calls that are seen at run time are the same in each run. Copies of inputs that are not
/// aligned stand in branches, but are not among them.
bool is_straight(const RunBody& body) {
    int depth = 0;
    for (const FlowStep& step : body.flow) {
        using Kind = FlowStep::Kind;
        if (step.kind == Kind::branch || step.kind == Kind::loop) ++depth;
        if (step.kind == Kind::end_branch || step.kind == Kind::end_loop) --depth;
        const bool is_seen = step.kind == Kind::call && body.sites[step.value].kind != CallKind::copy;
        if (is_seen && depth > 0) return false;
    }
    return true;
}

/// "buf1 (later buf3)"; of several the last, which is what it is in the end.
std::string with_later_names(const std::string& name, const std::vector<std::string_view>& later) {
    if (later.empty()) return name;
    return name + (later.size() == 1 ? " (later " : " (.. ") + std::string(later.back()) + ")";
}

}  // namespace

AllocationNames::AllocationNames(const RunBody& body) {
    if (!is_straight(body)) return;
    std::map<std::string_view, std::vector<std::string_view>> later;  // by the first name, in order
    std::map<std::string_view, std::string_view> first;               // of a later name
    for (const SharedMemory& shared : body.shared_memory) {
        const auto known = first.find(shared.of);
        const std::string_view origin = known == first.end() ? std::string_view(shared.of) : known->second;
        first[shared.name] = origin;
        later[origin].push_back(shared.name);
    }
    for (const Allocation& allocation : body.allocations) {
        if (!allocation.pool.empty()) continue;  // a part of one that is in here
        entries_.push_back({with_later_names(allocation.name, later[allocation.name]), allocation.before,
                            sizes_in(allocation.sizes)});
    }
}

const std::string* AllocationNames::find(std::uint32_t behind, std::uint32_t nth,
                                         std::span<const std::int64_t> sizes) const {
    const std::uint32_t next = behind == kNone ? 0 : behind + 1;
    const auto first =
        std::lower_bound(entries_.begin(), entries_.end(), next,
                         [](const Entry& entry, std::uint32_t site) { return entry.before < site; });
    if (static_cast<std::size_t>(entries_.end() - first) <= nth) return nullptr;
    const Entry& entry = first[nth];
    const bool is_it =
        std::equal(entry.sizes.begin(), entry.sizes.end(), sizes.begin(), sizes.end(),
                   [](std::int64_t said, std::int64_t seen) { return said == kSymbolic || said == seen; });
    return is_it ? &entry.name : nullptr;
}

}  // namespace aoti_dbg
