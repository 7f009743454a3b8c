// This command once more, as a child that is waited for no longer than was said, and what it prints. For
// trials that may crash or hang: the driver's, those of a faulting kernel.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace aoti_dbg {

struct ChildEnd {
    std::string why_not_started;  // empty: it was
    pid_t pid = -1;
    int status = 0;  // as waitpid says
    bool timed_out = false;
    std::string out;
    std::string err;
};

/// Runs `aoti-dbg <arguments>` in this process's environment, its standard input empty. Dies with us. One
/// that does not even die when it is killed, since it waits in the kernel, is left.
ChildEnd run_child(const std::vector<std::string>& arguments, std::chrono::milliseconds deadline);

/// What was wrong with its end, behind "a program that"; empty where it exited with 0.
std::string trouble_of(const ChildEnd& end, std::chrono::milliseconds deadline);

}  // namespace aoti_dbg
