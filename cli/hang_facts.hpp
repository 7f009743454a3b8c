// Which process hung when it ended, or hangs now: by the file that the library has left of it, or by the
// calls that its ring says it had not come back from. Reads only.
#pragma once

#include <vector>

#include "cli/recorded_processes.hpp"
#include "cli/triage.hpp"
#include "serializer/crash_report.hpp"

namespace aoti_dbg::cli {

/// The one that hangs for the longest, whose hang becomes the report's; null where none does, or where the
/// run ended by something else.
const RecordedProcess* longest_hang(const std::vector<RecordedProcess>& processes, const EndedRun& run,
                                    CrashReport& report);

}  // namespace aoti_dbg::cli
