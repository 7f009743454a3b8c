// Removes trailing blank lines from log files. The library writes a log through a mapping that it fills with
// newlines in advance, so a killed program leaves them behind its last line.
#pragma once

#include <sys/types.h>

#include <ctime>
#include <string>

namespace aoti_dbg::cli {

/// Returns the file that AOTI_DBG_LOG=`pattern` names for process `pid`. Empty if the pattern contains the
/// time, which is unknown from outside.
std::string log_path(const std::string& pattern, pid_t pid);

/// Cuts the newlines at the end of that file, and of its numbered successors, down to one. It skips anything
/// that is not a regular file or was not written since `started`. It also skips files that a process still
/// maps, because truncation would kill that process with SIGBUS.
void trim_log(const std::string& pattern, pid_t pid, const timespec& started);

}  // namespace aoti_dbg::cli
