// Text whose lines are wrapped, for tests that look for words across line breaks.
#pragma once

#include <string>

namespace aoti_dbg::test {

/// With one blank for each line break and what is before the next word.
inline std::string unwrapped(const std::string& text) {
    std::string line;
    for (const char c : text) {
        const bool is_blank = c == '\n' || c == ' ';
        if (!is_blank || line.empty() || line.back() != ' ') line += is_blank ? ' ' : c;
    }
    return line;
}

}  // namespace aoti_dbg::test
