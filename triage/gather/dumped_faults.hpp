// Which process's kernels faulted, or ran when the driver was asked, out of the core dumps that the processes
// of a run left. What cannot be read is noted.
#pragma once

#include <vector>

#include "triage/gather/recorded_processes.hpp"
#include "triage/gather/triage.hpp"

namespace aoti_dbg {

/// The process whose kernel faulted first, with that in the report; of the others there are notes. Null where
/// none did.
const RecordedProcess* first_fault(const std::vector<RecordedProcess>& processes, const EndedRun& run,
                                   CrashReport& report);

/// The report is of a hang of that process, at which the driver was asked: what it ran.
void add_running_kernel(const RecordedProcess& process, const EndedRun& run, CrashReport& report);

/// Somebody has asked the driver by hand, or a fault has left no trace.
void note_asked_dumps(const std::vector<RecordedProcess>& processes, const EndedRun& run,
                      CrashReport& report);

}  // namespace aoti_dbg
