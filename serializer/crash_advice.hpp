// What to do about a report that has been judged: how to repeat it, and what to try next. Pure.
#pragma once

#include <string>
#include <vector>

#include "serializer/crash_report.hpp"

namespace aoti_dbg {

/// Commands for a shell.
std::vector<std::string> ways_to_repeat(const CrashReport& report);

/// `is_about_finding`: the verdict is the finding, and not what the program came to.
std::vector<std::string> advice_for(const CrashReport& report, bool is_about_finding);

}  // namespace aoti_dbg
