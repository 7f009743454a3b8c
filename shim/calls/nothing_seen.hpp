// The verdict that nothing was seen, given once for a tree of processes: by `aoti-dbg run` where there is
// one, else by the start. "Saw nothing" is not "clean". Must not give it while a descendant may have recorded
// something.
#pragma once

#include <cstdint>
#include <string>

#include "config/options.hpp"

namespace aoti_dbg {

/// What the process was when it loaded the library.
struct LoadedProcess {
    const std::string& folder;  // its working directory
    std::int64_t unix_seconds;
};

/// At the end of a process that has no session. Says nothing where the process has neither PyTorch nor a
/// driver. May be called from a signal handler, where it allocates nothing.
void report_nothing_seen(const Options& options, const LoadedProcess& process);

}  // namespace aoti_dbg
