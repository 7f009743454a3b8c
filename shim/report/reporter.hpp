// Without `aoti-dbg run` nobody waits for the end of a program to say what became of it. So the process
// starts the command itself when it comes to a bad end, and waits for it: `aoti-dbg report`.
#pragma once

#include <cstdint>
#include <string>

namespace aoti_dbg {

/// Finds the command beside the library and keeps what it is to be started with: `folder` is this process's
/// output folder, where older files are of others; `is_start`: it is not below that of another process.
/// Without the command: false.
bool prepare_reporter(const std::string& folder, std::uint64_t since_unix_ns, bool is_start);
/// Whether this process is prepared.
bool has_reporter();

/// How the process ends, as far as it knows.
struct OwnEnd {
    int signal = 0;
    int status = -1;  // -1: not known
};

/// Once a process, if it is prepared, and waits until the report is made, some seconds at most. False where
/// it could not be started. Allocates nothing and takes no lock: called by a signal handler. The program does
/// not become a parent that it did not want to be: nothing of it can be waited for, and no signal comes.
bool start_reporter(OwnEnd end);

}  // namespace aoti_dbg
