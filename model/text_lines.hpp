// Lines of texts that a model's files contain.
#pragma once

#include <cstddef>
#include <string_view>

namespace aoti_dbg {

/// Takes the first line off `rest`, and returns it without its end.
inline std::string_view next_line(std::string_view& rest) {
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    return line;
}

/// Returns the text without blanks at both ends.
inline std::string_view trimmed(std::string_view text) {
    constexpr const char* kBlanks = " \t\r";
    const std::size_t first = text.find_first_not_of(kBlanks);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

}  // namespace aoti_dbg
