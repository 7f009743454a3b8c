// Sets up the environment of the program that `aoti-dbg run` starts. It must change nothing else about the
// program.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "cli/run/run_program.hpp"
#include "config/options.hpp"

namespace aoti_dbg::cli {

/// Returns the directory that AOTI_DBG_OUT names for a program that starts at that time with that process id.
std::string folder_of(pid_t start, std::int64_t start_unix_ns);

/// Returns the variable without surrounding blanks, as the options read it. A blank value counts as unset.
std::string value_of(const char* variable);

/// Whether this value of AOTI_DBG_LOG means standard error or standard output.
bool is_stream(const std::string& log);

/// Sets this process's environment, which the child inherits. LD_PRELOAD no longer affects this process. With
/// `preload` false, LD_PRELOAD stays unchanged. `tally` is a path, or empty. Returns the options, or nothing
/// after an error message if the library cannot be found.
std::optional<Options> set_environment(const RunRequest& request, bool preload, const std::string& tally);

}  // namespace aoti_dbg::cli
