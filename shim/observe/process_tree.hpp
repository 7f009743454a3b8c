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

/// `[rank<N>-]<program>-<pid>`: the folder of this process below that of the start.
std::string process_folder_name();

}  // namespace aoti_dbg
