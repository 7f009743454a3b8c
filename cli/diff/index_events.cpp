#include "cli/diff/index_events.hpp"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

#include "cli/recorded_file.hpp"
#include "serializer/event_fields.hpp"
#include "serializer/event_words.hpp"
#include "serializer/line_source.hpp"

namespace aoti_dbg::cli {
namespace {

/// Inputs of a run come before its calls, and outputs after them.
int stage_of(EventSide side) {
    if (side == EventSide::inputs) return 0;
    return side == EventSide::outputs ? 2 : 1;
}

}  // namespace

void IndexEvents::read_index(const char* path) {
    RecordedFile file(path);
    LineSource lines([&file](char* to, std::size_t bytes) { return file.read(to, bytes); });
    JsonLine json;
    for (std::string_view line; lines.next(line);) {
        if (!json.parse(line)) continue;
        const JsonLine::Value root = json.root();
        std::optional<SavedPlace> place = saved_place(root);
        if (!place) continue;
        Entry& entry = entries_.emplace_back();
        static_cast<SavedPlace&>(entry) = std::move(*place);
        read_integer(root.member("model"), entry.model);
        read_integer(root.member("seq"), entry.sequence);
        entry.kernel = string_of(root.member("kernel"));
        entry.hash = string_of(root.member("hash"));
        read_tensor(root, entry.facts);
    }
    std::ranges::stable_sort(entries_, {}, [](const Entry& entry) {
        return std::tuple(entry.run, stage_of(entry.side), entry.call, entry.side, entry.position);
    });
    JsonlRenderer::render_header({}, text_);
}

std::size_t IndexEvents::read(char* to, std::size_t bytes) {
    while (at_ == text_.size() && next_ < entries_.size())
        render_next();
    const std::size_t count = std::min(bytes, text_.size() - at_);
    std::memcpy(to, text_.data() + at_, count);
    at_ += count;
    return count;
}

/// Renders the next side of a call, or end of a run.
void IndexEvents::render_next() {
    text_.clear();
    at_ = 0;
    const Entry& first = entries_[next_];
    if (next_ == 0 || entries_[next_ - 1].run != first.run) {
        by_label_.clear();
        by_hash_.clear();
        weights_.clear();
    }
    SiteFacts& site = sites_[first.kernel];
    site.kernel = first.kernel;
    MeasuredCall call;
    call.side = first.side;
    call.site = first.kernel.empty() ? nullptr : &site;
    call.sequence = first.sequence;
    call.model = first.model;
    call.run = first.run;
    call.call = first.call;
    std::vector<MeasuredArgument> arguments;
    const std::size_t begin = next_;
    if (first.side == EventSide::before) unread_.clear();
    for (; next_ < entries_.size(); ++next_) {
        const Entry& entry = entries_[next_];
        if (std::tie(entry.run, entry.call, entry.side) != std::tie(first.run, first.call, first.side)) break;
        MeasuredArgument& argument = arguments.emplace_back();
        const Role role = role_of(entry);
        argument.address = address_of(entry);
        argument.facts = &facts_of(entry, role);
        argument.tensor = &entry.facts;
        argument.why_not = "saved";
    }
    for (std::size_t i = begin; i < next_; ++i) {
        if (first.side == EventSide::before && unread_.contains(entries_[i].label)) continue;
        if (!entries_[i].hash.empty()) by_hash_[entries_[i].hash] = by_label_[entries_[i].label];
    }
    call.arguments = arguments;
    renderer_.render(call, text_);
}

/// A buffer that no call has written yet has no contents, unless it is another name for what one has written.
Role IndexEvents::role_of(const Entry& entry) {
    const bool is_new = entry.side == EventSide::before && entry.label.starts_with("buf") &&
                        !by_label_.contains(entry.label) && !by_hash_.contains(entry.hash);
    if (is_new) unread_.insert(entry.label);
    const bool is_call = entry.side == EventSide::before || entry.side == EventSide::after;
    return is_call && unread_.contains(entry.label) ? Role::writes : Role::unknown;
}

/// Another name for a buffer has the contents of the first one.
std::uint64_t IndexEvents::address_of(const Entry& entry) {
    const auto [address, is_new] = by_label_.try_emplace(entry.label);
    if (!is_new) return address->second;
    const auto same = by_hash_.find(entry.hash);
    const bool is_buffer = entry.label.starts_with("buf");
    const bool is_alias = entry.side == EventSide::before && is_buffer && same != by_hash_.end();
    if (entry.side == EventSide::before && !is_buffer) weights_.insert(entry.label);
    constexpr unsigned kApart = 40;  // bits, more than any tensor has bytes
    address->second = is_alias ? same->second : ++labels_ << kApart;
    return address->second;
}

const ArgumentFacts& IndexEvents::facts_of(const Entry& entry, Role role) {
    const bool is_weight = weights_.contains(entry.label);
    const std::string key = entry.label + (is_weight ? "\nweight " : "\n") + std::to_string(entry.position) +
                            std::string(word_of(role));
    const auto [facts, is_new] = arguments_.try_emplace(key);
    if (is_new) {
        facts->second.label = entry.label;
        facts->second.position = entry.position;
        facts->second.role = role;
        if (is_weight) facts->second.original_fqn = entry.label;
    }
    return facts->second;
}

}  // namespace aoti_dbg::cli
