// What is told of a finding that a report is about: its call as that of a crash, with its place in the
// model's source, its arguments and the calls before it.
#pragma once

#include "triage/gather/recorded_processes.hpp"
#include "triage/gather/triage.hpp"
#include "triage/judge/crash_report.hpp"

namespace aoti_dbg {

/// `process` is that which has the report's finding; null where nothing else was recorded of it. Whatever the
/// ring has lost is told as the finding itself says it.
void add_finding_details(const EndedRun& run, const RecordedProcess* process, CrashReport& report);

}  // namespace aoti_dbg
