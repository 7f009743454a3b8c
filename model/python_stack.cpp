#include "model/python_stack.hpp"

#include <algorithm>
#include <charconv>

#include "model/text_lines.hpp"

namespace aoti_dbg {
namespace {

constexpr std::size_t kLongestText = 4096;

std::string_view cut_and_trimmed(std::string_view text) {
    return trimmed(text).substr(0, kLongestText);
}

/// Returns 0 if the text is not a number.
std::uint32_t number_of(std::string_view text) {
    std::uint32_t number = 0;
    const auto done = std::from_chars(text.data(), text.data() + text.size(), number);
    return done.ec == std::errc() && done.ptr == text.data() + text.size() ? number : 0;
}

/// Reads `File "/x/net.py", line 12, in forward`. Returns line 0 if it is something else.
PythonLine read_place(std::string_view text) {
    constexpr std::string_view kFile = "File \"";
    constexpr std::string_view kLine = "\", line ";
    PythonLine place;
    if (!text.starts_with(kFile)) return place;
    const std::size_t end = text.rfind(kLine);
    if (end == std::string_view::npos || end < kFile.size()) return place;
    std::string_view rest = text.substr(end + kLine.size());
    const std::size_t comma = rest.find(", in ");
    place.line = number_of(rest.substr(0, comma));
    if (place.line == 0) return place;
    place.file = text.substr(kFile.size(), end - kFile.size());
    if (comma != std::string_view::npos) place.function = rest.substr(comma + 5);
    return place;
}

/// True for PyTorch's own code, and for code that has no file.
bool is_of_torch(const PythonLine& line) {
    return line.file.find("-packages/torch/") != std::string::npos || line.file.starts_with('<');
}

}  // namespace

std::string text_of(const PythonLine& line) {
    const std::size_t slash = line.file.rfind('/');
    std::string text = line.file.substr(slash == std::string::npos ? 0 : slash + 1);
    text += ":" + std::to_string(line.line);
    if (!line.function.empty()) text += " in " + line.function;
    if (!line.code.empty()) text += ": " + line.code;
    return text;
}

std::vector<PythonLine> read_python_stack(std::string_view stack) {
    std::vector<PythonLine> lines;
    bool wants_code = false;
    while (!stack.empty() && lines.size() < kMostStackLines) {
        const std::string_view line = cut_and_trimmed(next_line(stack));
        PythonLine place = read_place(line);
        if (place.line != 0) {
            lines.push_back(std::move(place));
            wants_code = true;
        } else if (wants_code && !line.empty()) {
            lines.back().code = line;
            wants_code = false;
        }
    }
    return lines;
}

PythonLine read_file_comment(std::string_view comment) {
    constexpr std::string_view kFile = "File: ";
    PythonLine line;
    const std::size_t at = comment.find(kFile);
    if (at == std::string_view::npos) return line;
    comment.remove_prefix(at + kFile.size());
    const std::size_t code = comment.find(", code: ");
    if (code == std::string_view::npos) return line;
    std::string_view place = comment.substr(0, code);
    const std::size_t in = place.rfind(" in ");
    if (in == std::string_view::npos) return line;
    const std::size_t colon = place.rfind(':', in);
    if (colon == std::string_view::npos) return line;
    line.line = number_of(place.substr(colon + 1, in - colon - 1));
    if (line.line == 0) return line;
    line.file = cut_and_trimmed(place.substr(0, colon));
    line.function = cut_and_trimmed(place.substr(in + 4));
    line.code = cut_and_trimmed(comment.substr(code + 8));
    return line;
}

const PythonLine& own_line(const std::vector<PythonLine>& stack) {
    const auto own = std::find_if_not(stack.rbegin(), stack.rend(), is_of_torch);
    return own == stack.rend() ? stack.back() : *own;
}

std::vector<std::string> own_lines_of(const std::vector<std::string>& stacks) {
    std::vector<std::string> texts;
    for (const std::string& stack : stacks) {
        const std::vector<PythonLine> lines = read_python_stack(stack);
        if (lines.empty()) continue;
        std::string text = text_of(own_line(lines));
        if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(std::move(text));
    }
    return texts;
}

std::vector<std::string> python_lines_of(const std::vector<std::string>& stack_lines) {
    std::string all;
    for (const std::string& line : stack_lines)
        all.append(line).append("\n");
    std::vector<std::string> texts;
    for (const PythonLine& line : read_python_stack(all)) {
        std::string text = text_of(line);
        if (!is_of_torch(line) && std::find(texts.begin(), texts.end(), text) == texts.end())
            texts.push_back(std::move(text));
    }
    return texts;
}

}  // namespace aoti_dbg
