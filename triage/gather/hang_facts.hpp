// Which process hung when it ended, or hangs now: by the file that the library has left of it, or by the
// calls that its ring says it had not come back from. Reads only.
#pragma once

#include <string>
#include <vector>

#include "triage/gather/recorded_processes.hpp"
#include "triage/gather/triage.hpp"
#include "triage/judge/crash_report.hpp"

namespace aoti_dbg {

/// The one that hangs for the longest, whose hang becomes the report's; null where none does, or where the
/// run ended by something else.
const RecordedProcess* longest_hang(const std::vector<RecordedProcess>& processes, const EndedRun& run,
                                    CrashReport& report);

/// How a process hung of which the driver was asked what runs there; empty for one that did not.
std::string recorded_hang_text(const RecordedProcess& process);

}  // namespace aoti_dbg
