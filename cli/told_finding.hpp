// What is told of a finding that a report is about: its call as that of a crash, with its place in the
// model's source, its arguments and the calls before it.
#pragma once

#include "cli/recorded_processes.hpp"
#include "cli/triage.hpp"
#include "serializer/crash_report.hpp"

namespace aoti_dbg::cli {

/// `process` is that which has the report's finding; null where nothing else was recorded of it. Whatever the
/// ring has lost is told as the finding itself says it.
void tell_finding(const EndedRun& run, const RecordedProcess* process, CrashReport& report);

}  // namespace aoti_dbg::cli
