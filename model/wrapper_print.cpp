#include "model/wrapper_print.hpp"

#include <algorithm>
#include <map>

#include "base/fnv.hpp"
#include "model/reading_limits.hpp"

namespace aoti_dbg {
namespace {

constexpr std::size_t kLongestKey = 4096;
constexpr std::string_view kHandle = "[Provenance debug handles] ";

bool is_in_path(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.' || c == '/' || c == '+';
}

/// Hashes of the values of integer arrays, by their names.
using Arrays = std::map<std::string, std::string, std::less<>>;

/// Notes the array if the line declares one: `static constexpr int64_t int_array_2[] = {10L, 16L};`
bool declares_array(std::string_view line, Arrays& arrays) {
    constexpr std::string_view kDeclaration = "static constexpr int64_t ";
    const std::size_t begin = line.find_first_not_of(' ');
    if (begin == std::string_view::npos || !line.substr(begin).starts_with(kDeclaration)) return false;
    line.remove_prefix(begin + kDeclaration.size());
    const std::size_t name = line.find("[] = ");
    const bool is_array =
        line.starts_with("int_array_") && name != std::string_view::npos && line.ends_with(';');
    if (!is_array || arrays.size() >= kMaxNames) return false;
    arrays[std::string(line.substr(0, name))] = std::to_string(fnv1a(line.substr(name + 5)));
    return true;
}

/// Appends the line without the folders of absolute paths, because each compilation has its own cache.
void append_reduced(std::string_view line, const Arrays& arrays, std::string& out) {
    for (std::size_t at = 0; at < line.size();) {
        std::size_t end = at;
        while (end < line.size() && is_in_path(line[end]))
            ++end;
        if (end == at) {
            out.push_back(line[at++]);
            continue;
        }
        const std::string_view word = line.substr(at, end - at);
        const auto array = word.starts_with("int_array_") ? arrays.find(word) : arrays.end();
        if (array != arrays.end())
            out.append(array->second);
        else
            out.append(word.front() == '/' ? word.substr(word.rfind('/')) : word);
        at = end;
    }
}

/// Returns the key if the line is nothing but a handle comment.
std::string_view handle_in(std::string_view line) {
    const std::size_t first = line.find_first_not_of(" \t");
    if (first == std::string_view::npos) return {};
    line.remove_prefix(first);
    if (line.starts_with("// "))
        line.remove_prefix(3);
    else if (line.starts_with("# "))
        line.remove_prefix(2);
    else
        return {};
    if (!line.starts_with(kHandle)) return {};
    return line.substr(kHandle.size(), kLongestKey);
}

/// True where torch appends commands or bindings to a generated C++ file.
bool is_appendix(std::string_view line) {
    return line.starts_with("// Compile cmd") || line.starts_with("// Python bindings to call ");
}

}  // namespace

std::uint32_t WrapperPrint::reduced(std::uint32_t line) const {
    const auto above = std::lower_bound(left_out.begin(), left_out.end(), line) - left_out.begin();
    return line - static_cast<std::uint32_t>(above);
}

WrapperPrint print_of(std::string_view wrapper) {
    WrapperPrint print;
    print.hash = kFnvBegin;
    std::uint32_t number = 0;
    std::uint32_t reduced = 1;
    std::uint64_t blank_lines = 0;  // counted once a line with text follows
    std::string text;
    Arrays arrays;
    while (!wrapper.empty()) {
        const std::size_t end = wrapper.find('\n');
        std::string_view line = wrapper.substr(0, end);
        wrapper.remove_prefix(end == std::string_view::npos ? wrapper.size() : end + 1);
        line = line.substr(0, line.find_last_not_of(" \t\r") + 1);
        ++number;
        if (is_appendix(line)) break;
        if (const std::string_view key = handle_in(line); !key.empty()) {
            print.handles.push_back({reduced, std::string(key)});
            print.left_out.push_back(number);
            continue;
        }
        if (declares_array(line, arrays)) {
            print.left_out.push_back(number);
            continue;
        }
        ++reduced;
        ++blank_lines;
        if (line.empty()) continue;
        text.clear();
        append_reduced(line, arrays, text);
        print.hash = fnv1a(text, fnv1a(blank_lines, print.hash));
        print.bytes += text.size() + 1;
        blank_lines = 0;
    }
    return print;
}

std::string_view embedded_wrapper(std::string_view python) {
    constexpr std::string_view kBegin = "cpp_wrapper_src = (\nr'''";
    const std::size_t begin = python.find(kBegin);
    if (begin == std::string_view::npos) return {};
    python.remove_prefix(begin + kBegin.size());
    const std::size_t end = python.find("'''");
    return end == std::string_view::npos ? std::string_view() : python.substr(0, end);
}

}  // namespace aoti_dbg
