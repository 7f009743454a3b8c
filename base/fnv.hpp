// FNV-1a: a quick hash of short texts, against accidents and not against people.
#pragma once

#include <cstdint>
#include <string_view>

namespace aoti_dbg {

inline constexpr std::uint64_t kFnvBegin = 0xcbf29ce484222325ULL;

/// Of `text` behind what `hash` is of.
constexpr std::uint64_t fnv1a(std::string_view text, std::uint64_t hash = kFnvBegin) {
    for (const char c : text)
        hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    return hash;
}

/// Of a number behind that, as one step.
constexpr std::uint64_t fnv1a(std::uint64_t number, std::uint64_t hash) {
    return (hash ^ number) * 0x100000001b3ULL;
}

}  // namespace aoti_dbg
