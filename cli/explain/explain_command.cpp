// See explain_command.hpp.
#include "cli/explain/explain_command.hpp"

#include <algorithm>
#include <string_view>

#include "cli/print.hpp"
#include "config/words.hpp"
#include "serializer/codes.hpp"
#include "triage/render/wrapped_text.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr std::size_t kWidth = 78;

constexpr const char* kExplainExamples =
    "Examples:\n"
    "  aoti-dbg explain                           list all codes\n"
    "  aoti-dbg explain AD1203\n";

/// Appends lines. The first begins with `first`, and the others with as many blanks.
void add_wrapped(std::string_view first, std::string_view text, std::string& out) {
    std::string begin(first);
    for (const std::string& line : wrapped(text, kWidth - first.size())) {
        out += begin + line + "\n";
        begin.assign(first.size(), ' ');
    }
}

std::string page_of(const CodeInfo& code) {
    std::string page = code_text(code.number) + "  " + std::string(code.title) + "\n\n";
    add_wrapped("", code.meaning, page);
    page += "\nExample:\n";
    add_wrapped("  ", code.example, page);
    page += "\nWhat to do:\n";
    std::string_view steps = code.remedy;
    while (!steps.empty()) {
        const std::size_t end = std::min(steps.find('\n'), steps.size());
        add_wrapped("  - ", steps.substr(0, end), page);
        steps.remove_prefix(std::min(end + 1, steps.size()));
    }
    return page;
}

}  // namespace

void ExplainCommand::add_to(CLI::App& app) {
    CLI::App& own = declare(app, "Explain the code of a finding, report or error.", kExplainExamples);
    std::vector<std::string> codes;
    for (const CodeInfo& code : all_codes())
        codes.push_back(code_text(code.number));
    accepts(add_value(own, {"code", "A code such as AD1203. Without it: list all codes."}, code_),
            std::move(codes));
}

int ExplainCommand::run() {
    if (code_.empty()) {
        std::string list;
        for (const CodeInfo& code : all_codes())
            list += code_text(code.number) + "  " + std::string(code.title) + "\n";
        return print(list);
    }
    const CodeInfo* const code = find_code(code_);
    if (code == nullptr)
        return refuse("there is no code " + aoti_dbg::quoted(code_) +
                      ". `aoti-dbg explain` lists all codes.");
    return print(page_of(*code));
}

}  // namespace aoti_dbg::cli
