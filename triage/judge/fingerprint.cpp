// Computes the fingerprint of a report: the words that make two crashes the same bug. It has no side effects.
#include <algorithm>
#include <cstdint>

#include "serializer/number_text.hpp"
#include "triage/judge/verdict.hpp"

namespace aoti_dbg {

std::string fingerprint_of(const std::vector<std::string_view>& words) {
    // FNV-1a, because it must be the same everywhere and forever and needs no protection against attacks.
    std::uint64_t hash = 0xcbf29ce484222325U;
    const auto mix = [&hash](unsigned char byte) { hash = (hash ^ byte) * 0x100000001b3U; };
    for (const std::string_view word : words) {
        for (const char c : word)
            mix(static_cast<unsigned char>(c));
        mix(0);
    }
    std::string text;
    append_hex(hash, text);
    return text;
}

std::string_view without_ordinal(std::string_view kernel) {
    constexpr std::string_view kTriton = "triton_";
    constexpr std::string_view kCpp = "cpp";
    std::string_view rest = kernel;
    if (rest.rfind(kTriton, 0) == 0) {
        rest.remove_prefix(kTriton.size());
        // "poi", "red" and such
        rest.remove_prefix(std::min(rest.find('_'), rest.size()));
    } else if (rest.rfind(kCpp, 0) == 0) {
        rest.remove_prefix(kCpp.size());
    } else {
        return kernel;
    }
    const std::size_t last = rest.find_last_not_of("0123456789");
    const bool is_numbered = rest.rfind("_fused_", 0) == 0 && rest[last] == '_' && last + 1 < rest.size();
    return is_numbered ? kernel.substr(0, kernel.size() - (rest.size() - last)) : kernel;
}

}  // namespace aoti_dbg
