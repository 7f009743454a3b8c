#include "base/shell_text.hpp"

#include <algorithm>
#include <string_view>

namespace aoti_dbg {

std::string shell_text(const std::vector<std::string>& words) {
    constexpr std::string_view kPlain = "%+,-./0123456789:=@_";
    std::string text;
    for (const std::string& word : words) {
        const bool is_plain = !word.empty() && std::all_of(word.begin(), word.end(), [&](char c) {
            return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                   kPlain.find(c) != std::string_view::npos;
        });
        if (!text.empty()) text += ' ';
        if (is_plain) {
            text += word;
            continue;
        }
        text += '\'';
        for (const char c : word)
            text += c == '\'' ? std::string("'\\''") : std::string(1, c);
        text += '\'';
    }
    return text;
}

}  // namespace aoti_dbg
