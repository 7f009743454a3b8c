// Suggests next steps for a judged report. It has no side effects.
#pragma once

#include <string>
#include <vector>

#include "triage/judge/crash_report.hpp"

namespace aoti_dbg {

/// `is_about_finding` means that the verdict is the finding, not how the program ended.
std::vector<std::string> advice_for(const CrashReport& report, bool is_about_finding);

}  // namespace aoti_dbg
