#include "triage/render/report_page.hpp"

#include "base/clean_text.hpp"
#include "triage/render/wrapped_text.hpp"

namespace aoti_dbg {

void ReportPage::add(std::string_view name, std::string_view value) {
    if (!value.empty()) add_whole(name, wrapped(value, kValueColumns));
}

void ReportPage::add_list(std::string_view name, const std::vector<std::string>& values) {
    constexpr std::string_view kIndent = "  ";
    std::vector<std::string> lines;
    for (const std::string& value : values) {
        const std::size_t first = lines.size();
        for (const std::string& line : wrapped(value, kValueColumns - kIndent.size()))
            lines.push_back(lines.size() == first ? line : std::string(kIndent) + line);
    }
    add_whole(name, lines);
}

void ReportPage::add_whole(std::string_view name, const std::vector<std::string>& lines) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
        std::string start = i == 0 ? "  " + std::string(name) : "";
        start.resize(kValue, ' ');
        out_.append(start).append(lines[i]).append("\n");
        has_section_ = true;
    }
}

void ReportPage::add_gap() {
    if (has_section_) out_ += '\n';
    has_section_ = false;
}

}  // namespace aoti_dbg
