// Finds the processes whose kernels faulted, or were running when the driver was asked, from the core dumps
// of a run. It notes what it cannot read.
#pragma once

#include <vector>

#include "triage/gather/recorded_processes.hpp"
#include "triage/judge/ended_run.hpp"

namespace aoti_dbg {

/// Returns the process whose kernel faulted first, or null if none did. Its fault goes into the report; the
/// others become notes.
const RecordedProcess* first_fault(const std::vector<RecordedProcess>& processes, const EndedRun& run,
                                   Evidence& evidence);

/// Adds the kernel that was running to a report about a hang of `process` for which the driver was asked.
void add_running_kernel(const RecordedProcess& process, const EndedRun& run, Evidence& evidence);

/// Notes dumps without a fault: a user requested one by hand, or a fault left no trace.
void note_asked_dumps(const std::vector<RecordedProcess>& processes, const EndedRun& run, Evidence& evidence);

}  // namespace aoti_dbg
