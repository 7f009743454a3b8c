#include "triage/render/wrapped_text.hpp"

#include "base/clean_text.hpp"

namespace aoti_dbg {

std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
    const std::string clean = clean_text(text);
    std::string_view rest = clean;
    std::vector<std::string> lines;
    while (characters_in(rest) > width) {
        // A line of `width` bytes has at most that many characters.
        std::size_t blank = rest.rfind(' ', width);
        if (blank == std::string_view::npos || blank == 0) blank = rest.find(' ', width);
        if (blank == std::string_view::npos) break;
        lines.emplace_back(rest.substr(0, blank));
        rest.remove_prefix(blank + 1);
    }
    lines.emplace_back(rest);
    return lines;
}

}  // namespace aoti_dbg
