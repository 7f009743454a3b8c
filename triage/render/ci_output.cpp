// See ci_output.hpp. https://docs.github.com/actions/reference/workflow-commands-for-github-actions describes
// only the syntax of commands. GitHub's toolkit shows what to escape: % and line ends, and in a property also
// colon and comma.
#include "triage/render/ci_output.hpp"

#include <algorithm>
#include <cstdio>

#include "base/clean_text.hpp"

namespace aoti_dbg {
namespace {

void append_escaped(std::string_view text, bool is_property, std::string& out) {
    // The command's own form of a line end is the only useful control character here.
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string clean = clean_text(text.substr(0, end));
        for (const char c : clean) {
            if (c == '%') {
                out += "%25";
            } else if (is_property && c == ':') {
                out += "%3A";
            } else if (is_property && c == ',') {
                out += "%2C";
            } else {
                out += c;
            }
        }
        if (end < text.size()) out += "%0A";
        text.remove_prefix(std::min(end + 1, text.size()));
    }
}

/// Returns clean text with its line ends. XML excludes U+FFFE and U+FFFF, although they are characters.
std::string xml_text(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        const std::string clean = clean_text(text.substr(0, end));
        for (std::size_t i = 0; i < clean.size(); ++i) {
            const std::string_view rest = std::string_view(clean).substr(i);
            if (rest.substr(0, 3) == "\xEF\xBF\xBE" || rest.substr(0, 3) == "\xEF\xBF\xBF") {
                out += kReplacement;
                i += 2;
                continue;
            }
            switch (clean[i]) {
                case '&':
                    out += "&amp;";
                    break;
                case '<':
                    out += "&lt;";
                    break;
                case '>':
                    out += "&gt;";
                    break;
                case '"':
                    out += "&quot;";
                    break;
                default:
                    out += clean[i];
            }
        }
        if (end < text.size()) out += '\n';
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return out;
}

std::string with_attribute(std::string_view name, std::string_view value) {
    std::string text = xml_text(value);
    // XML reads an unescaped line end in an attribute as a blank.
    for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at))
        text.replace(at, 1, "&#10;");
    return " " + std::string(name) + "=\"" + text + "\"";
}

}  // namespace

std::string github_error(std::string_view title, std::string_view text) {
    std::string line = "::error title=";
    append_escaped(title, true, line);
    line += "::";
    append_escaped(text, false, line);
    return line + "\n";
}

std::string junit_xml(std::string_view program, double seconds, const std::vector<JunitCase>& cases) {
    const auto failures =
        std::count_if(cases.begin(), cases.end(), [](const JunitCase& one) { return !one.failure.empty(); });
    char time[32];
    std::snprintf(time, sizeof time, "%.3f", seconds);
    std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite";
    text += with_attribute("name", "aoti-dbg: " + std::string(program));
    text += with_attribute("tests", std::to_string(cases.size()));
    text += with_attribute("failures", std::to_string(failures));
    text += with_attribute("errors", "0") + with_attribute("skipped", "0") + with_attribute("time", time);
    text += ">\n";
    for (const JunitCase& one : cases) {
        text += "    <testcase" + with_attribute("classname", "aoti-dbg") + with_attribute("name", one.name);
        if (one.failure.empty()) {
            text += "/>\n";
            continue;
        }
        text += ">\n      <failure" + with_attribute("message", one.failure) + ">" + xml_text(one.details) +
                "</failure>\n    </testcase>\n";
    }
    return text + "  </testsuite>\n</testsuites>\n";
}

}  // namespace aoti_dbg
