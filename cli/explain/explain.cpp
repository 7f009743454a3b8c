#include "cli/explain/explain.hpp"

#include <algorithm>
#include <string_view>

#include "cli/print.hpp"
#include "cli/typed_words.hpp"
#include "config/words.hpp"
#include "serializer/codes.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr std::size_t kWidth = 78;

/// Appends `text` in lines after `indent`. The first line follows `first` instead.
void add_wrapped(std::string_view first, std::string_view indent, std::string_view text, std::string& out) {
    std::string_view begin = first;
    while (!text.empty()) {
        const std::size_t width = kWidth - begin.size();
        std::size_t cut = text.size() <= width ? text.size() : text.rfind(' ', width);
        if (cut == std::string_view::npos || cut == 0) cut = std::min(text.find(' '), text.size());
        out.append(begin).append(text.substr(0, cut)).append("\n");
        text.remove_prefix(std::min(cut + 1, text.size()));
        begin = indent;
    }
}

std::string page_of(const CodeInfo& code) {
    std::string page = code_text(code.number) + "  " + std::string(code.title) + "\n\n";
    add_wrapped("", "", code.meaning, page);
    page += "\nExample:\n";
    add_wrapped("  ", "    ", code.example, page);
    page += "\nWhat to do:\n";
    std::string_view steps = code.remedy;
    while (!steps.empty()) {
        const std::size_t end = std::min(steps.find('\n'), steps.size());
        add_wrapped("  - ", "    ", steps.substr(0, end), page);
        steps.remove_prefix(std::min(end + 1, steps.size()));
    }
    return page;
}

}  // namespace

int explain(const std::string& code) {
    if (code.empty()) {
        std::string list;
        for (const CodeInfo& known : all_codes())
            list += code_text(known.number) + "  " + std::string(known.title) + "\n";
        return print(list);
    }
    const CodeInfo* const known = find_code(code);
    if (known != nullptr) return print(page_of(*known));
    return refuse("explain",
                  "there is no code " + aoti_dbg::quoted(code) + ". `aoti-dbg explain` lists all codes.");
}

}  // namespace aoti_dbg::cli
