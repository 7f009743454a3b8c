// The library writes a log file through a mapping that it fills with newlines ahead of itself, so that a
// program that is killed leaves blank lines behind its last one. This takes them away.
#pragma once

#include <sys/types.h>

#include <ctime>
#include <string>

namespace aoti_dbg::cli {

/// The file that AOTI_DBG_LOG=`pattern` meant for process `pid`; empty where that cannot be known from
/// outside: a pattern with the time in it.
std::string log_path(const std::string& pattern, pid_t pid);

/// Cuts the newlines at the end of that file, and of its numbered followers, down to one. Leaves alone what
/// is not a regular file, what was not written to since `started`, and what some process still maps: cutting
/// would kill that one by SIGBUS.
void trim_log(const std::string& pattern, pid_t pid, const timespec& started);

}  // namespace aoti_dbg::cli
