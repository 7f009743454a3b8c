// The place of this process among the processes that have the library. The start is the process that a person
// or a job started, and all its children inherit LD_PRELOAD. The output of the whole tree goes to the folder
// of the start. Only the start prints messages that concern all of them.
#pragma once

#include <string>

#include "config/options.hpp"
#include "config/pattern.hpp"

namespace aoti_dbg {

/// Returns the start that `aoti-dbg run` names. Otherwise returns the last ancestor that has the library
/// without a gap in between. Reads /proc.
Origin find_start();

/// Returns true if the process maps a file of that name. Allocates nothing, because a signal handler may call
/// it at exit.
bool has_mapped(int pid, const char* file);

/// Returns true if the patterns select this process. They match the program's name, its first argument,
/// `rank<N>` and the whole command line.
bool matches_this_process(const NamePatterns& names);

/// Returns the program and its arguments, separated by blanks.
std::string command_line();

/// Returns this process's folder below that of the start: `[rank<N>-]<program>-<pid>`, or "" for the start's
/// own folder. At most one process gets "".
///
/// Under `aoti-dbg run`, the first process that records may get it instead of the start. Then only launchers
/// (`timeout`, `env`, shells) may be between them.
std::string own_folder_name(const Origin& start);

}  // namespace aoti_dbg
