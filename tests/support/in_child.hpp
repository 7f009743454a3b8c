// Runs tests in a child that end a process or change its limits.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

namespace aoti_dbg::test {

/// Runs `work` in a child and returns its wait status.
template <typename Work>
int in_child(Work work) {
    const pid_t child = fork();
    if (child == 0) {
        work();
        ::_exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return status;
}

}  // namespace aoti_dbg::test
