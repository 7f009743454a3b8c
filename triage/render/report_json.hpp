// A report as report.json and as the one line of its verdict (docs/reference/report.md). It only formats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "triage/judge/verdict.hpp"

namespace aoti_dbg {

inline constexpr std::string_view kReportFormatName = "aoti-dbg-report";
inline constexpr std::uint32_t kReportFormatVersion = 1;

/// Returns the whole file report.json.
std::string report_json(const Report& report);

inline constexpr std::size_t kVerdictBytes = 2048;

/// Returns one line of JSON of at most kVerdictBytes, including the newline. `path` is the path of the full
/// report.
std::string verdict_line(const Report& report, std::string_view path);

}  // namespace aoti_dbg
