#include "model/kernel_source.hpp"

#include <algorithm>
#include <cctype>
#include <vector>

#include "model/text_lines.hpp"

namespace aoti_dbg {
namespace {

constexpr std::string_view kQuotes = "'''";
constexpr std::string_view kKernel = "async_compile.triton('";
constexpr std::string_view kAssertion = "device_assert(";
constexpr std::size_t kLongestName = 1024;

bool is_of_name(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// Returns the names in a text, in order.
std::vector<std::string_view> names_in(std::string_view text) {
    std::vector<std::string_view> names;
    for (std::size_t at = 0; at < text.size();) {
        std::size_t end = at;
        while (end < text.size() && is_of_name(text[end]))
            ++end;
        const bool is_name = end > at && std::isdigit(static_cast<unsigned char>(text[at])) == 0;
        if (is_name) names.push_back(text.substr(at, end - at));
        at = std::max(end, at + 1);
    }
    return names;
}

/// Returns the text from the parenthesis at `open` to its partner or to the first comma at that level.
std::string_view first_argument(std::string_view text, std::size_t open) {
    int depth = 0;
    for (std::size_t at = open; at < text.size(); ++at) {
        const char c = text[at];
        if (c == '(' || c == '[') ++depth;
        if (c == ')' || c == ']') --depth;
        if (depth == 0 || (depth == 1 && c == ',')) return text.substr(open + 1, at - open - 1);
    }
    return text.substr(open + 1);
}

std::string_view line_of(std::string_view source, std::uint32_t line) {
    for (; line > 1; --line) {
        const std::size_t end = source.find('\n');
        if (end == std::string_view::npos) return {};
        source.remove_prefix(end + 1);
    }
    return source.substr(0, source.find('\n'));
}

std::vector<KernelAssertions::Line> assertions_in(std::string_view source) {
    std::vector<KernelAssertions::Line> lines;
    for (std::uint32_t number = 1; !source.empty(); ++number) {
        const std::string_view line = source.substr(0, source.find('\n'));
        source.remove_prefix(std::min(line.size() + 1, source.size()));
        const std::size_t at = line.find(kAssertion);
        if (at == std::string_view::npos || line.find('#') < at) continue;
        lines.push_back({number, std::string(trimmed(line))});
    }
    return lines;
}

/// Returns the names of a kernel's parameters. In each part between commas the first name counts, because a
/// type or default may follow.
std::vector<std::string_view> parameters_of(std::string_view source, std::string_view kernel) {
    const std::string begin = "def " + std::string(kernel) + "(";
    const std::size_t at = source.find(begin);
    if (at == std::string_view::npos) return {};
    source.remove_prefix(at + begin.size());
    source = source.substr(0, source.find(')'));
    std::vector<std::string_view> parameters;
    while (!source.empty()) {
        const std::size_t comma = std::min(source.find(','), source.size());
        const std::vector<std::string_view> names = names_in(source.substr(0, comma));
        if (!names.empty()) parameters.push_back(names.front());
        source.remove_prefix(std::min(comma + 1, source.size()));
    }
    return parameters;
}

struct Access {
    std::string_view function;
    bool is_write;
};
constexpr Access kAccesses[] = {{"tl.load(", false}, {"tl.store(", true}, {"tl.atomic_", true}};

/// Finds nothing if the line has no access or more than one.
void find_access(std::string_view line, const std::vector<std::string_view>& parameters,
                 KernelLine& line_facts) {
    std::string_view argument;
    int found = 0;
    for (const Access& access : kAccesses) {
        for (std::size_t at = line.find(access.function); at != std::string_view::npos;
             at = line.find(access.function, at + 1)) {
            const std::size_t open = line.find('(', at);
            if (open == std::string_view::npos) break;
            argument = first_argument(line, open);
            line_facts.is_write = access.is_write;
            ++found;
        }
    }
    if (found != 1) return;
    for (const std::string_view name : names_in(argument)) {
        if (std::find(parameters.begin(), parameters.end(), name) == parameters.end()) continue;
        line_facts.parameter = name;
        return;
    }
}

}  // namespace

std::string_view find_kernel_source(std::string_view wrapper, std::string_view kernel) {
    const std::string begin = std::string(kKernel) + std::string(kernel) + "', " + std::string(kQuotes);
    const std::size_t at = wrapper.find(begin);
    if (at == std::string_view::npos) return {};
    wrapper.remove_prefix(at + begin.size());
    return wrapper.substr(0, wrapper.find(kQuotes));
}

std::optional<KernelLine> find_kernel_line(std::string_view wrapper_source, std::string_view kernel,
                                           std::uint32_t line) {
    const std::string_view source = find_kernel_source(wrapper_source, kernel);
    const std::string_view text = line == 0 ? std::string_view() : trimmed(line_of(source, line));
    if (text.empty()) return std::nullopt;
    KernelLine line_facts;
    line_facts.text = text;
    find_access(text, parameters_of(source, kernel), line_facts);
    return line_facts;
}

std::vector<KernelAssertions> find_assertions(std::string_view wrapper_source) {
    std::vector<KernelAssertions> kernels;
    const std::string begin = "', " + std::string(kQuotes);
    for (std::string_view rest = wrapper_source;;) {
        const std::size_t at = rest.find(kKernel);
        if (at == std::string_view::npos) return kernels;
        rest.remove_prefix(at + kKernel.size());
        const std::string_view name = rest.substr(0, rest.substr(0, kLongestName).find('\''));
        if (rest.substr(name.size(), begin.size()) != begin) continue;
        rest.remove_prefix(name.size() + begin.size());
        const std::string_view source = rest.substr(0, rest.find(kQuotes));
        kernels.push_back({std::string(name), assertions_in(source)});
        rest.remove_prefix(source.size());
    }
}

}  // namespace aoti_dbg
