// Finds the process that hung at exit or hangs now, from the file that the library left or the open calls in
// its ring. It must not write.
#pragma once

#include <string>
#include <vector>

#include "triage/gather/recorded_processes.hpp"
#include "triage/judge/ended_run.hpp"
#include "triage/judge/evidence.hpp"

namespace aoti_dbg {

/// Returns the process with the longest hang and puts that hang into the report. Returns null if none hangs,
/// or if the run ended for another reason.
const RecordedProcess* longest_hang(const std::vector<RecordedProcess>& processes, const EndedRun& run,
                                    Evidence& evidence);

/// Describes the hang of a process for which the driver was asked what runs; empty for other processes.
std::string recorded_hang_text(const RecordedProcess& process);

}  // namespace aoti_dbg
