// Output for CI systems: GitHub Actions annotations, and JUnit XML for most others. It has no side effects.
// Whatever bytes names contain, the output must be one line or well-formed XML.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace aoti_dbg {

/// Returns a workflow command in one line: `::error title=...::...`
std::string github_error(std::string_view title, std::string_view text);

/// One question about a run, and what is wrong if the answer is no.
struct JunitCase {
    std::string name;
    std::string failure;  // a sentence; empty: passed
    std::string details;  // lines
};

/// Returns a complete file with one suite; `program` is the second half of its name.
std::string junit_xml(std::string_view program, double seconds, const std::vector<JunitCase>& cases);

}  // namespace aoti_dbg
