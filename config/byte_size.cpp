#include "config/byte_size.hpp"

#include <cstddef>

#include "config/words.hpp"

namespace aoti_dbg {
namespace {

constexpr std::string_view kLetters = "kmgt";

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/// 0: no such unit.
std::uint64_t bytes_of_unit(std::string_view given) {
    const std::string unit = lower_case(given);
    if (unit.empty() || unit == "b") return 1;
    const std::size_t power = kLetters.find(unit.front());
    if (power == std::string_view::npos) return 0;
    const std::string_view rest = std::string_view(unit).substr(1);
    std::uint64_t step = 0;
    if (rest.empty() || rest == "b") step = 1000;
    if (rest == "i" || rest == "ib") step = 1024;
    std::uint64_t bytes = step;
    for (std::size_t i = 0; i < power; ++i)
        bytes *= step;
    return bytes;
}

}  // namespace

std::optional<std::uint64_t> parse_byte_size(std::string_view text) {
    std::size_t at = 0;
    while (at < text.size() && (is_digit(text[at]) || text[at] == '.'))
        ++at;
    const std::string_view number = text.substr(0, at);
    const std::uint64_t unit = bytes_of_unit(trimmed(text.substr(at)));
    const std::size_t point = number.find('.');
    const std::string_view whole = number.substr(0, point);
    if (unit == 0 || whole.empty()) return std::nullopt;
    __extension__ using Wide = unsigned __int128;
    Wide bytes = 0;
    for (const char digit : whole) {
        bytes = bytes * 10 + static_cast<Wide>(digit - '0') * unit;
        if (bytes > UINT64_MAX) bytes = UINT64_MAX;
    }
    if (point != std::string_view::npos) {
        const std::string_view fraction = number.substr(point + 1);
        if (fraction.empty() || fraction.find('.') != std::string_view::npos) return std::nullopt;
        Wide worth = unit;  // of a digit at this place, times ten
        for (const char digit : fraction) {
            bytes += worth * static_cast<Wide>(digit - '0') / 10;
            worth /= 10;
        }
    }
    return bytes > UINT64_MAX ? UINT64_MAX : static_cast<std::uint64_t>(bytes);
}

std::string byte_size_text(std::uint64_t bytes) {
    if (bytes < 1000) return std::to_string(bytes) + " B";
    // Tenths of a unit, rounded to the nearest.
    std::uint64_t unit = 1000;
    std::size_t power = 0;
    while (power + 1 < kLetters.size() && bytes / unit >= 1000) {
        unit *= 1000;
        ++power;
    }
    const std::uint64_t tenth = unit / 10;
    const std::uint64_t tenths = bytes / tenth + (bytes % tenth >= tenth / 2 ? 1 : 0);
    const char letter = "kMGT"[power];
    return std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " " + letter + "B";
}

}  // namespace aoti_dbg
