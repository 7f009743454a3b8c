#include "serializer/report_page.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "serializer/clean_text.hpp"

namespace aoti_dbg {
namespace {

struct Kept {
    std::string_view name;
    std::size_t lines;
};
// What these lose says more than another part does.
constexpr Kept kKept[] = {{"call", 2},   {"fault", 2},  {"runs", 2},    {"hangs", 4},
                          {"memory", 2}, {"source", 2}, {"unended", 2}, {"arguments", 3}};
// Which parts go where all are that short, the first first.
constexpr std::string_view kSayLeast[] = {"nodes",  "elsewhere", "also open",  "ATen",
                                          "before", "in",        "written by", "try"};

std::size_t kept_lines(std::string_view name) {
    const auto* const kept = std::find_if(std::begin(kKept), std::end(kKept),
                                          [name](const Kept& one) { return one.name == name; });
    return kept == std::end(kKept) ? 1 : kept->lines;
}

}  // namespace

std::vector<std::string> wrapped(std::string_view text, std::size_t width, std::size_t most) {
    std::string rest;
    append_clean(text, rest);
    std::vector<std::string> lines;
    while (lines.size() + 1 < most && characters_in(rest) > width) {
        // A line of that many bytes has no more characters.
        const std::size_t blank = rest.rfind(' ', width);
        if (blank == std::string::npos || blank == 0) break;
        lines.push_back(rest.substr(0, blank));
        rest.erase(0, blank + 1);
    }
    append_shortened(rest, width, lines.emplace_back());
    return lines;
}

void ReportPage::add(const char* name, std::string_view value, std::size_t most) {
    if (!value.empty()) sections_.push_back({name, wrapped(value, kValueColumns, most)});
}

void ReportPage::add_list(const char* name, const std::vector<std::string>& values) {
    Section section{name, {}, true};
    for (const std::string& value : values)
        append_shortened(value, kValueColumns, section.lines.emplace_back());
    if (!values.empty()) sections_.push_back(std::move(section));
}

void ReportPage::add_whole(const char* name, const std::vector<std::string>& lines) {
    if (!lines.empty()) sections_.push_back({name, lines, true, true});
}

void ReportPage::render(std::size_t most_lines, std::string& out) {
    while (lines() > most_lines && (shorten_one(false) || drop_one() || shorten_one(true))) {
    }
    for (const Section& section : sections_) {
        for (std::size_t i = 0; i < section.lines.size(); ++i) {
            std::string name = i == 0 ? "  " + section.name : "";
            name.resize(kValue, ' ');
            out.append(name).append(section.lines[i]).append("\n");
        }
    }
}

std::size_t ReportPage::lines() const {
    std::size_t count = 0;
    for (const Section& section : sections_)
        count += section.lines.size();
    return count;
}

bool ReportPage::shorten_one(bool to_one_line) {
    // Of several a list, whose lines tell of different things.
    const auto excess = [to_one_line](const Section& section) {
        const std::size_t keeps = to_one_line ? 1 : kept_lines(section.name);
        const std::size_t most = section.is_whole ? section.lines.size() : keeps;
        return std::pair(section.lines.size() - std::min(most, section.lines.size()), section.is_list);
    };
    const auto longest =
        std::max_element(sections_.begin(), sections_.end(),
                         [&](const Section& a, const Section& b) { return excess(a) < excess(b); });
    if (longest == sections_.end() || excess(*longest).first == 0) return false;
    drop_last_line(*longest);
    return true;
}

bool ReportPage::drop_one() {
    for (const std::string_view name : kSayLeast) {
        const auto found = std::find_if(sections_.begin(), sections_.end(),
                                        [name](const Section& one) { return one.name == name; });
        if (found == sections_.end()) continue;
        sections_.erase(found);
        return true;
    }
    return false;
}

void ReportPage::drop_last_line(Section& section) {
    section.lines.pop_back();
    std::string& last = section.lines.back();
    if (last.size() >= 4 && last.compare(last.size() - 4, 4, " ...") == 0) return;
    std::string cut;
    append_shortened(last, kValueColumns - 4, cut);
    last = cut + " ...";
}

}  // namespace aoti_dbg
