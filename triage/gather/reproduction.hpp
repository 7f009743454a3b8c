// What it takes to repeat a run that is reported: its command, our own name for a shell, the flags that were
// given, the program's working directory and variables.
#pragma once

#include <vector>

#include "triage/gather/recorded_processes.hpp"
#include "triage/gather/triage.hpp"

namespace aoti_dbg {

/// Of a program that the command has started, as the command was; else what the process says of itself.
void add_start(const std::vector<RecordedProcess>& processes, const EndedRun& run, CrashReport& report);

}  // namespace aoti_dbg
