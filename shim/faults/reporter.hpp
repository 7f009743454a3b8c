// Starts `aoti-dbg report` from the process itself after an abnormal exit, and waits for it. Without
// `aoti-dbg run`, no command waits for the exit of the program.
#pragma once

#include <cstdint>
#include <string>

namespace aoti_dbg {

/// The process that the report describes.
struct ReportedProcess {
    std::string folder;  // for its output; older files in it belong to other processes
    std::string here;    // base of relative names in options, wherever the program changes its directory to
    std::uint64_t since_unix_ns = 0;
    bool is_start = false;  // its folder is not inside that of another process
};

/// Finds the command beside the library and keeps what it needs to start. Returns false without the command.
bool prepare_reporter(const ReportedProcess& process);
/// True if this process is prepared.
bool has_reporter();

/// How the process ends, as far as it knows.
struct OwnEnd {
    int signal = 0;
    int status = -1;  // -1 if unknown
};

/// Starts the report once per prepared process, and waits for it for some seconds at most. Returns false if
/// it could not be started. A signal handler calls it, so it must not allocate or take a lock. The program
/// gets no child that it can wait for, and no signal.
bool start_reporter(OwnEnd end);

}  // namespace aoti_dbg
