// Where this process stands among those that have the library. The start is the one that a person or a job
// started; LD_PRELOAD reaches everything that it starts in turn. The output of all lies in one folder, that
// of the start, and what concerns them all is said by the start alone.
#pragma once

#include <string>

#include "config/options.hpp"
#include "config/pattern.hpp"

namespace aoti_dbg {

/// As `aoti-dbg run` tells it; else the last ancestor without a gap that has the library. Reads /proc.
Origin find_start();

/// Whether some file of that name is mapped by the process. Allocates nothing: asked on the way out, perhaps
/// by a signal handler.
bool has_mapped(int pid, const char* file);

/// Whether this process takes part, going by the name of the program, of its first argument, `rank<N>`, and
/// the whole command line.
bool matches_this_process(const NamePatterns& names);

/// With its arguments, parted by blanks.
std::string command_line();

/// The folder of this process below that of the start: `[rank<N>-]<program>-<pid>`, or "" for the folder of
/// the start itself. Under `aoti-dbg run` the first process that records may have it instead of the start, if
/// only launchers (`timeout`, `env`, shells) are between them. At most one process has it.
std::string own_folder_name(const Origin& start);

}  // namespace aoti_dbg
