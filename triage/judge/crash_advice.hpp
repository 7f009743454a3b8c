// What to try next about a report that has been judged. Pure.
#pragma once

#include <string>
#include <vector>

#include "triage/judge/crash_report.hpp"

namespace aoti_dbg {

/// `is_about_finding`: the verdict is the finding, and not what the program came to.
std::vector<std::string> advice_for(const CrashReport& report, bool is_about_finding);

}  // namespace aoti_dbg
