// Prints the examples of selection as Markdown. scripts/generate-selection-doc builds and runs it.
#include <cstdio>
#include <initializer_list>
#include <string>
#include <string_view>

namespace {

std::string page;

std::string code(std::string_view text) {
    return "`" + std::string(text) + "`";
}

std::string kernel(std::string_view printed, std::string_view symbol) {
    const std::string other = printed == symbol ? "" : ", also known as " + code(symbol);
    return "- " + code(printed) + other + "\n";
}

using Style = std::string (*)(std::string_view);

std::string plain(std::string_view text) {
    return std::string(text);
}

/// "a; b" as "a, b".
std::string list(std::string_view text, Style style) {
    if (text.empty()) return "nothing";
    std::string result;
    while (true) {
        const std::size_t end = text.find("; ");
        result += style(text.substr(0, end));
        if (end == std::string_view::npos) return result;
        result += ", ";
        text.remove_prefix(end + 2);
    }
}

std::string lines(std::string_view text) {
    return text.empty() ? "none" : list(text, plain);
}

std::string flags(std::string_view text) {
    return text.empty() ? "none" : code(text);
}

void row(std::initializer_list<std::string> cells) {
    for (const std::string& cell : cells)
        page += "| " + cell + " ";
    page += "|\n";
}

void table(std::string_view introduction, std::initializer_list<std::string> titles) {
    page += "\n" + std::string(introduction) + "\n\n";
    row(titles);
    for (std::size_t i = 0; i < titles.size(); ++i)
        page += "|---";
    page += "|\n";
}

}  // namespace

int main() {
    page += "## Kernels\n\nThe examples choose from these kernels:\n\n";
#define AOTI_DBG_EXAMPLE_KERNEL(printed, symbol) page += kernel(printed, symbol);
#include "tests/unit/selection_examples.def"

    table("A pattern must match the whole name. Case does not matter.", {"`--kernels`", "selects"});
#define AOTI_DBG_EXAMPLE_PATTERNS(patterns, selected) row({code(patterns), list(selected, code)});
#include "tests/unit/selection_examples.def"

    table("## Runs and calls\n\nThe examples choose from runs 0 to 9, or from calls 0 to 9 of a run.",
          {"`--runs` or `--calls`", "selects"});
#define AOTI_DBG_EXAMPLE_WINDOW(window, selected) row({code(window), list(selected, plain)});
#include "tests/unit/selection_examples.def"

    table(
        "A call must be in both windows. A call outside of any run is only in a window that holds "
        "everything.",
        {"options", "call", "lines printed"});
#define AOTI_DBG_EXAMPLE_CALL(given, run, call, printed)                                \
    row({flags(given),                                                                  \
         (run) < 0 ? std::string("outside of any run")                                  \
                   : "call " + std::to_string(call) + " of run " + std::to_string(run), \
         lines(printed)});
#include "tests/unit/selection_examples.def"

#define AOTI_DBG_EXAMPLE_FILE(json)                                                              \
    page += "\n## Rules in a configuration file\n\nTake this file as `--config`:\n\n```json\n" + \
            std::string(json) + "\n```\n";
#include "tests/unit/selection_examples.def"

    table(
        "The first rule that matches a name decides for it. An option on the command line replaces the same "
        "option in the rules.",
        {"more options", "call", "lines printed"});
#define AOTI_DBG_EXAMPLE_FILE_CALL(given, kernel, run, call, printed) \
    row({flags(given), code(kernel) + " in run " + std::to_string(run), lines(printed)});
#include "tests/unit/selection_examples.def"

    return std::fputs(page.c_str(), stdout) < 0 || std::fflush(stdout) != 0 ? 1 : 0;
}
