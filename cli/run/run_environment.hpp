// What `aoti-dbg run` changes about the program that it starts: variables of its environment, nothing else.
#pragma once

#include <optional>
#include <string>

#include "cli/run/run.hpp"
#include "config/options.hpp"

namespace aoti_dbg::cli {

/// A variable as options are read: blanks around it do not count, and a blank value is none.
std::string value_of(const char* variable);

/// Whether that of AOTI_DBG_LOG means standard error or output.
bool is_stream(const std::string& log);

/// Makes this process's environment the child's; it is too late for LD_PRELOAD to touch us. `preload` false
/// leaves LD_PRELOAD as it is; `tally` is a path, or empty. Returns what is asked for, or nothing, having
/// said why, where the library is not to be found.
std::optional<Options> set_environment(const RunRequest& request, bool preload, const std::string& tally);

}  // namespace aoti_dbg::cli
