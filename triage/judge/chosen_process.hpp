// Selects the process that a run's report is about, and determines how it ended, from the ring summaries and
// the exit of the started program. It has no side effects.
#pragma once

#include <string>
#include <vector>

#include "triage/judge/ended_run.hpp"
#include "triage/judge/evidence.hpp"
#include "triage/judge/recorded_process.hpp"

namespace aoti_dbg {

/// Returns the process that explains the run's exit, or null if no process recorded it. For a program that
/// exited successfully, only a crashed descendant qualifies.
const RecordedProcess* choose(const std::vector<RecordedProcess>& processes, const EndedRun& run);

/// `process` is null if no process recorded the exit.
CrashEnd end_of(const EndedRun& run, const RecordedProcess* process);

/// Lists the calls that failed in processes other than `chosen`, one clause each.
std::vector<std::string> failed_calls_of_others(const std::vector<RecordedProcess>& processes,
                                                const RecordedProcess* chosen);

/// Lists processes besides `chosen` that ended abnormally without a known cause and may have failed the
/// program. One clause each; empty if the program exited successfully.
std::vector<std::string> unexplained_ends(const std::vector<RecordedProcess>& processes, const EndedRun& run,
                                          const RecordedProcess* chosen);

}  // namespace aoti_dbg
