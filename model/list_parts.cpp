#include "model/list_parts.hpp"

#include <cstddef>

namespace aoti_dbg {
namespace {

constexpr std::size_t kMostParts = 64;  // PyTorch's limit of dimensions

std::string_view without_blanks(std::string_view text) {
    while (!text.empty() && text.front() == ' ')
        text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ')
        text.remove_suffix(1);
    return text;
}

}  // namespace

std::optional<std::vector<std::string>> list_parts(std::string_view text) {
    if (text.size() < 2 || text.front() != '{' || text.back() != '}') return std::nullopt;
    text = text.substr(1, text.size() - 2);
    std::vector<std::string> parts;
    std::size_t begin = 0;
    int depth = 0;
    for (std::size_t at = 0; at <= text.size(); ++at) {
        if (at < text.size() && text[at] == '(') ++depth;
        if (at < text.size() && text[at] == ')') --depth;
        if (at < text.size() && (text[at] != ',' || depth > 0)) continue;
        const std::string_view part = without_blanks(text.substr(begin, at - begin));
        begin = at + 1;
        if (part.empty() && begin > text.size()) break;  // after the last comma, or in an empty list
        if (part.empty() || parts.size() == kMostParts) return std::nullopt;
        parts.emplace_back(part);
    }
    return parts;
}

}  // namespace aoti_dbg
