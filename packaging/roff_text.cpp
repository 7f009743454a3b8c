// See roff_text.hpp.
#include "packaging/roff_text.hpp"

#include <algorithm>
#include <vector>

namespace aoti_dbg::packaging {
namespace {

/// Calls `take` for each piece between separators.
template <typename Take>
void split(std::string_view text, std::string_view separator, Take&& take) {
    while (true) {
        const std::size_t end = text.find(separator);
        take(text.substr(0, end));
        if (end == std::string_view::npos) return;
        text.remove_prefix(end + separator.size());
    }
}

std::string_view without_blanks(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\n'))
        text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\n'))
        text.remove_suffix(1);
    return text;
}

/// Returns the text of a link that begins at `text`, and removes the link from `text`. Returns an empty
/// string if no link begins there.
std::string_view take_link(std::string_view& text) {
    const std::size_t middle = text.find("](");
    const std::size_t end = text.find(')', std::min(middle, text.size()));
    if (text.front() != '[' || end == std::string_view::npos || text.find(']') != middle) return {};
    const std::string_view label = text.substr(1, middle - 1);
    text.remove_prefix(end + 1);
    return label;
}

std::string roff_bullets(std::string_view block) {
    std::string out = ".RS\n.PD 0\n";
    split(block, "\n- ", [&out](std::string_view item) {
        if (item.substr(0, 2) == "- ") item.remove_prefix(2);
        out += ".IP \\(bu 2\n" + roff_paragraph(item) + "\n";
    });
    return out + ".PD\n.RE\n";
}

/// The first line of a Markdown table has the titles, the second one only dashes.
std::string roff_table(std::string_view block) {
    std::string out = ".RS\n.PD 0\n";
    int line_number = 0;
    split(block, "\n", [&](std::string_view line) {
        if (++line_number <= 2) return;
        std::vector<std::string_view> cells;
        split(line.substr(1), " |",
              [&cells](std::string_view cell) { cells.push_back(without_blanks(cell)); });
        if (cells.size() < 2) return;
        out += ".TP\n" + roff_paragraph(cells[0]) + "\n" + roff_paragraph(cells[1]) + "\n";
    });
    return out + ".PD\n.RE\n";
}

}  // namespace

std::string roff(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '\\') {
            out += "\\e";
        } else if (c == '-') {
            out += "\\-";
        } else if (c == '\'') {
            out += "\\(aq";
        } else if (c == '`') {
            out += "\\(ga";
        } else if (c == '^') {
            out += "\\(ha";
        } else if (c == '~') {
            out += "\\(ti";
        } else {
            out += c;
        }
    }
    return out;
}

std::string bold(std::string_view text) {
    return "\\fB" + roff(text) + "\\fR";
}

std::string italic(std::string_view text) {
    return "\\fI" + roff(text) + "\\fR";
}

std::string roff_paragraph(std::string_view markdown) {
    std::string out;
    std::string_view rest = without_blanks(markdown);
    while (!rest.empty()) {
        if (rest.front() == '`') {
            const std::size_t end = rest.find('`', 1);
            out += bold(rest.substr(1, end - 1));
            rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
            continue;
        }
        if (const std::string_view label = take_link(rest); !label.empty()) {
            out += roff(label);
            continue;
        }
        const std::size_t end = std::max<std::size_t>(1, std::min(rest.find_first_of("`["), rest.size()));
        out += roff(rest.substr(0, end));
        rest.remove_prefix(end);
    }
    std::replace(out.begin(), out.end(), '\n', ' ');
    // A period or an apostrophe at the start of a line begins a request.
    return out.empty() || out.front() != '.' ? out : "\\&" + out;
}

std::string roff_body(std::string_view markdown) {
    std::string out;
    split(markdown, "\n\n", [&out](std::string_view block) {
        block = without_blanks(block);
        if (block.empty()) return;
        if (block.substr(0, 2) == "- ") {
            out += roff_bullets(block);
        } else if (block.front() == '|') {
            out += roff_table(block);
        } else {
            out += (out.empty() ? "" : ".IP\n") + roff_paragraph(block) + "\n";
        }
    });
    return out;
}

}  // namespace aoti_dbg::packaging
