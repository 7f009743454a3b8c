// Which of a run's processes its report is about, and how that one ended: by what all rings say in short, and
// by how the program that was started ended. Pure.
#pragma once

#include <string>
#include <vector>

#include "triage/gather/recorded_processes.hpp"
#include "triage/gather/triage.hpp"
#include "triage/judge/crash_report.hpp"

namespace aoti_dbg {

/// Whose end it is that the run's end tells of; null where nobody recorded anything of it. Of a program that
/// ended well only what crashed below it.
const RecordedProcess* choose(const std::vector<RecordedProcess>& processes, const EndedRun& run);

/// `process` is null where nobody recorded anything of it.
CrashEnd end_of(const EndedRun& run, const RecordedProcess* process);

/// Calls that failed in other processes than `chosen`. A clause each.
std::vector<std::string> failed_calls_of_others(const std::vector<RecordedProcess>& processes,
                                                const RecordedProcess* chosen);

/// Those that failed the program perhaps, besides `chosen`: they ended in no good order, and nobody knows by
/// what. A clause each; none where the program ended well.
std::vector<std::string> unexplained_ends(const std::vector<RecordedProcess>& processes, const EndedRun& run,
                                          const RecordedProcess* chosen);

}  // namespace aoti_dbg
