// FNV-1a, a fast hash for short texts. It guards against accidents, not against attackers.
#pragma once

#include <cstdint>
#include <string_view>

namespace aoti_dbg {

inline constexpr std::uint64_t kFnvBegin = 0xcbf29ce484222325ULL;

/// Extends `hash` by `text`.
constexpr std::uint64_t fnv1a(std::string_view text, std::uint64_t hash = kFnvBegin) {
    for (const char c : text)
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    return hash;
}

/// Extends `hash` by a number in one step.
constexpr std::uint64_t fnv1a(std::uint64_t number, std::uint64_t hash) {
    return (hash ^ number) * 0x100000001b3ULL;
}

}  // namespace aoti_dbg
