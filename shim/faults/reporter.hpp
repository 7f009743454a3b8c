// Without `aoti-dbg run` nobody waits for the end of a program to say what became of it. So the process
// starts the command itself when it comes to a bad end, and waits for it: `aoti-dbg report`.
#pragma once

#include <cstdint>
#include <string>

namespace aoti_dbg {

/// Whom it is about.
struct ReportedProcess {
    std::string folder;  // for its output; older files there are of others
    std::string here;    // where relative names begin: those of options, wherever the program went
    std::uint64_t since_unix_ns = 0;
    bool is_start = false;  // its folder is not below that of another process
};

/// Finds the command beside the library and keeps what it is to be started with. Without the command: false.
bool prepare_reporter(const ReportedProcess& process);
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
