// Runs this command again as a child with a deadline, and captures its output. Use it for trials that may
// crash or hang: the driver's, and those of a faulting kernel.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace aoti_dbg {

struct ChildEnd {
    std::string why_not_started;  // empty if it started
    pid_t pid = -1;
    int status = 0;  // from waitpid
    bool timed_out = false;
    std::string out;
    std::string err;
};

/// Runs `aoti-dbg <arguments>` in this process's environment with empty standard input. The child dies with
/// this process. A child that survives SIGKILL because it waits in the kernel is abandoned.
ChildEnd run_child(const std::vector<std::string>& arguments, std::chrono::milliseconds deadline);

/// Describes how it failed, to follow "a program that". Empty if it exited with 0.
std::string trouble_of(const ChildEnd& end, std::chrono::milliseconds deadline);

}  // namespace aoti_dbg
