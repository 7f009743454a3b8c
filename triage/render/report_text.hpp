// A report as text for people: the verdict, then what happened, where, which tensor and what wrote it. How to
// reproduce it, what to try, and the details follow. It only formats.
#pragma once

#include <string>

#include "triage/judge/verdict.hpp"

namespace aoti_dbg {

/// Lines wrap, and nothing is omitted.
std::string report_text(const Report& report);

}  // namespace aoti_dbg
