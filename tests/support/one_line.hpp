// Text without its line breaks and columns, for tests that look for a sentence wherever it wraps.
#pragma once

#include <cctype>
#include <string>
#include <string_view>

namespace aoti_dbg::test {

/// Every run of blanks and line breaks becomes one blank.
inline std::string one_line(std::string_view text) {
    std::string line;
    for (const char c : text) {
        const bool is_space = std::isspace(static_cast<unsigned char>(c)) != 0;
        if (!is_space) line += c;
        if (is_space && !line.empty() && line.back() != ' ') line += ' ';
    }
    return line;
}

}  // namespace aoti_dbg::test
