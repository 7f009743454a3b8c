// What a call does with the memory of an argument, and the words for it in files.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace aoti_dbg {

enum class Role : std::uint8_t {
    unknown,
    reads,
    writes,   // the old contents are not read
    updates,  // read and written
    makes,    // created by the call; nothing exists before it
};

inline constexpr std::array<std::string_view, 5> kRoleWords = {"unknown", "reads", "writes", "updates",
                                                               "makes"};

constexpr std::string_view word_of(Role role) {
    return kRoleWords[static_cast<std::size_t>(role)];
}

/// Maps a role from a newer version to unknown.
constexpr Role role_of(std::string_view word) {
    for (std::size_t i = 0; i < kRoleWords.size(); ++i) {
        if (kRoleWords[i] == word) return static_cast<Role>(i);
    }
    return Role::unknown;
}

}  // namespace aoti_dbg
