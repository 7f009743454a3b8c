#include "cli/replay/child.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>

#include "base/file_failure.hpp"

namespace aoti_dbg::cli {

Result<int> run_in_child(const std::function<int()>& work) {
    std::fflush(nullptr);
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child < 0) return Status::error("cannot start a process: " + errno_text(errno));
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(1);
        const int code = work();
        std::fflush(nullptr);
        _exit(code);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return Status::error("cannot wait for a process: " + errno_text(errno));
    if (WIFSIGNALED(status))
        return Status::error("signal " + std::to_string(WTERMSIG(status)) + " ended the replay");
    return WEXITSTATUS(status);
}

}  // namespace aoti_dbg::cli
