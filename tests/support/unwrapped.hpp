// Unwraps text for tests that search for words across line breaks.
#pragma once

#include <string>

namespace aoti_dbg::test {

/// Replaces each line break and the indentation after it by one blank.
inline std::string unwrapped(const std::string& text) {
    std::string line;
    for (const char c : text) {
        const bool is_blank = c == '\n' || c == ' ';
        if (!is_blank || line.empty() || line.back() != ' ') line += is_blank ? ' ' : c;
    }
    return line;
}

}  // namespace aoti_dbg::test
