// Words that the renderers of events share: those for sides and roles, which are part of events.jsonl, and
// what is said where something is not known.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "serializer/measured_event.hpp"

namespace aoti_dbg {

inline constexpr std::array<std::string_view, 4> kSideWords = {"before", "after", "inputs", "outputs"};
inline constexpr std::array<std::string_view, 5> kRoleWords = {"unknown", "reads", "writes", "updates",
                                                               "makes"};

constexpr std::string_view word_of(EventSide side) {
    return kSideWords[static_cast<std::size_t>(side)];
}
constexpr std::string_view word_of(Role role) {
    return kRoleWords[static_cast<std::size_t>(role)];
}

constexpr std::optional<EventSide> side_of(std::string_view word) {
    for (std::size_t i = 0; i < kSideWords.size(); ++i) {
        if (kSideWords[i] == word) return static_cast<EventSide>(i);
    }
    return std::nullopt;
}

/// A role that a newer version has is unknown to us.
constexpr Role role_of(std::string_view word) {
    for (std::size_t i = 0; i < kRoleWords.size(); ++i) {
        if (kRoleWords[i] == word) return static_cast<Role>(i);
    }
    return Role::unknown;
}

/// Whether a tensor is shown before a call that only writes it: its memory holds whatever was there.
inline bool is_unwritten(const MeasuredCall& call, const MeasuredArgument& argument) {
    return call.side == EventSide::before && argument.tensor != nullptr && argument.facts != nullptr &&
           argument.facts->role == Role::writes;
}

/// Why this argument has no statistics.
std::string_view reason_text(const MeasuredArgument& argument);

/// Facts of a kernel and of an argument that are called "?" for those that have none.
const SiteFacts& site_or_unknown(const MeasuredCall& call);
const ArgumentFacts& facts_or_unknown(const MeasuredArgument& argument);

}  // namespace aoti_dbg
