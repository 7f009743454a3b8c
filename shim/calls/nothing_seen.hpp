// The verdict that nothing was intercepted, printed once per process tree. `aoti-dbg run` prints it if
// present, else the start of the tree. "Saw nothing" is not "clean". Must not print it while a descendant may
// have recorded something.
#pragma once

#include <cstdint>
#include <string>

#include "config/options.hpp"

namespace aoti_dbg {

/// Facts from the time when the process loaded the library.
struct LoadedProcess {
    const std::string& folder;  // the working directory
    std::int64_t unix_seconds;
};

/// Call this at the exit of a process without a session. Prints nothing if the process has neither PyTorch
/// nor a driver. Allocates nothing in a signal handler, so it may run there.
void report_nothing_seen(const Options& options, const LoadedProcess& process);

}  // namespace aoti_dbg
