// Output for CI systems, hostile text first.
#include "triage/render/ci_output.hpp"

#include <algorithm>

#include "tests/support/catch.hpp"

namespace aoti_dbg::ci_output_test {
namespace {

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

/// Whether XML 1.0 allows the text as is: no markup, and no control characters except line ends.
bool is_plain(const std::string& text) {
    return std::all_of(text.begin(), text.end(), [](char c) {
        return c != '<' && c != '"' && (static_cast<unsigned char>(c) >= 0x20 || c == '\n');
    });
}

std::string between(const std::string& text, const std::string& begin, const std::string& end) {
    const std::size_t from = text.find(begin) + begin.size();
    return text.substr(from, text.find(end, from) - from);
}

}  // namespace

TEST_CASE("An annotation is one line, and nothing in it acts as a command or a property") {
    const std::string line = github_error("a,b:c%\n::x", "100%\r\n::error::second\x1b[0m\xff");
    CHECK(line == "::error title=a%2Cb%3Ac%25%0A%3A%3Ax::100%25?%0A::error::second?[0m\xEF\xBF\xBD\n");
    CHECK(std::count(line.begin(), line.end(), '\n') == 1);
}

TEST_CASE("Names with markup, control characters or broken UTF-8 leave well-formed XML") {
    const std::string hostile = "a<b>&\"c\"]]>\x01\x1f\x7f\xff\xC2\x85\xEF\xBF\xBE\xEF\xBF\xBF'\t";
    const std::string xml = junit_xml(hostile, 1.5, {{hostile, hostile, hostile + "\n" + hostile}});
    const std::string escaped =
        "a&lt;b&gt;&amp;&quot;c&quot;]]&gt;???\xEF\xBF\xBD?\xEF\xBF\xBD\xEF\xBF\xBD'?";
    CHECK(contains(xml, "name=\"aoti-dbg: " + escaped + "\""));
    CHECK(contains(xml, "<failure message=\"" + escaped + "\">" + escaped + "\n" + escaped + "</failure>"));
    CHECK(is_plain(between(xml, "<failure message=\"", "\"")));
    CHECK(contains(xml, "time=\"1.500\""));
}

TEST_CASE("A line end in an attribute survives") {
    CHECK(contains(junit_xml("p", 0, {{"name", "one\ntwo", ""}}), "message=\"one&#10;two\""));
}

TEST_CASE("Cases are counted, and passed ones are empty") {
    const std::string xml = junit_xml("pytest", 0, {{"passes", "", ""}, {"fails", "why", "lines\n"}});
    CHECK(contains(xml, "tests=\"2\" failures=\"1\" errors=\"0\" skipped=\"0\""));
    CHECK(contains(xml, "<testcase classname=\"aoti-dbg\" name=\"passes\"/>"));
    CHECK(contains(xml, "name=\"fails\">\n      <failure message=\"why\">lines\n</failure>"));
}

}  // namespace aoti_dbg::ci_output_test
