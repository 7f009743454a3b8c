// Words that the event renderers share: sides, which are part of events.jsonl, and texts for unknown values.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "serializer/measured_event.hpp"

namespace aoti_dbg {

inline constexpr std::array<std::string_view, 4> kSideWords = {"before", "after", "inputs", "outputs"};

constexpr std::string_view word_of(EventSide side) {
    return kSideWords[static_cast<std::size_t>(side)];
}

constexpr std::optional<EventSide> side_of(std::string_view word) {
    for (std::size_t i = 0; i < kSideWords.size(); ++i) {
        if (kSideWords[i] == word) return static_cast<EventSide>(i);
    }
    return std::nullopt;
}

/// True if a tensor is shown before a call that only writes it, so its contents are uninitialized.
inline bool is_unwritten(const MeasuredCall& call, const MeasuredArgument& argument) {
    return call.side == EventSide::before && argument.tensor != nullptr && argument.facts != nullptr &&
           argument.facts->role == Role::writes;
}

/// Returns why this argument has no statistics.
std::string_view reason_text(const MeasuredArgument& argument);

/// Return placeholder facts named "?" if there are none.
const SiteFacts& site_or_unknown(const MeasuredCall& call);
const ArgumentFacts& facts_or_unknown(const MeasuredArgument& argument);

}  // namespace aoti_dbg
