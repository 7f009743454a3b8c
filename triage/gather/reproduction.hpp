// What it takes to repeat a reported run: its command, the shell's name for this tool, its flags and
// working directory.
#pragma once

#include <vector>

#include "triage/gather/recorded_processes.hpp"
#include "triage/judge/ended_run.hpp"

namespace aoti_dbg {

/// Describes a program that the command started as the command was given. Otherwise uses what the process
/// recorded about itself.
void add_start(const std::vector<RecordedProcess>& processes, const EndedRun& run, Evidence& evidence);

}  // namespace aoti_dbg
