#include "cli/replay/child.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>

#include "base/file_failure.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr int kException = 255;

/// Callers up the stack must not go on in the child, whatever happens in it.
int code_of(const std::function<int()>& work) noexcept {
    try {
        return work();
    } catch (const std::exception&) {
        return kException;
    }
}

}  // namespace

Result<int> run_in_child(const std::function<int()>& work) {
    std::fflush(nullptr);
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child < 0) return Status::error("cannot start a process: " + errno_text(errno));
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent) _exit(1);
        const int code = code_of(work);
        std::fflush(nullptr);
        _exit(code);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR) return Status::error("cannot wait for a process: " + errno_text(errno));
    if (WIFSIGNALED(status))
        return Status::error("signal " + std::to_string(WTERMSIG(status)) + " ended the replay");
    if (WEXITSTATUS(status) == kException)
        return Status::error("the replay ended early, such as without enough memory");
    return WEXITSTATUS(status);
}

}  // namespace aoti_dbg::cli
