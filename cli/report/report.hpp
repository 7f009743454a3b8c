// `aoti-dbg report`: the report that `aoti-dbg run --triage` prints at exit, for a program that variables
// armed and that ran without `aoti-dbg run`.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace aoti_dbg::cli {

/// `folder` is an output directory. Writes the report to standard output and into the directory. Returns the
/// exit code: 1 if there is nothing to report or nothing was recorded.
int report(const std::string& folder, const std::string& torch_trace);

/// A process that is about to end, as it describes itself.
struct EndingProcess {
    std::string folder;
    pid_t pid = 0;
    std::uint64_t since_unix_ns = 0;
    std::optional<int> status;  // as from waitpid
    std::vector<std::string> command;
    bool is_start = false;  // its directory is not below that of another process
};

/// Prints what `aoti-dbg run` would print for the process, or nothing if it ends normally. The process waits
/// for this.
int report_end(const EndingProcess& process);

}  // namespace aoti_dbg::cli
