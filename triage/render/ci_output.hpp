// What CI systems read: annotations of GitHub Actions, and JUnit XML, which most others show. Pure text;
// whatever bytes names hold, it stays one line, or well-formed XML.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace aoti_dbg {

/// A workflow command, one line: `::error title=...::...`
std::string github_error(std::string_view title, std::string_view text);

/// One question about a run, and what is wrong where the answer is no.
struct JunitCase {
    std::string name;
    std::string failure;  // a sentence; empty: passed
    std::string details;  // lines
};

/// A whole file with one suite; `program` is its name's second half.
std::string junit_xml(std::string_view program, double seconds, const std::vector<JunitCase>& cases);

}  // namespace aoti_dbg
