// See awaited_child.hpp. Output goes to memory files, so the child never blocks and nothing is read while it
// runs.
#include "triage/gather/awaited_child.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>

#include "base/descriptor.hpp"
#include "triage/gather/installation.hpp"
#include "triage/judge/evidence.hpp"

namespace aoti_dbg {
namespace {

using Clock = std::chrono::steady_clock;

// Short enough to go unnoticed, and cheap.
constexpr timespec kBetweenLooks = {0, 2'000'000};
constexpr std::chrono::seconds kToDie{2};
constexpr std::size_t kMostOutput = std::size_t{1} << 20U;

std::string text_of(const Descriptor& file) {
    std::string text(kMostOutput, '\0');
    const ssize_t count = pread(file.number(), text.data(), text.size(), 0);
    text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
    return text;
}

[[noreturn]] void become(const std::string& program, std::vector<std::string> arguments, int out, int err) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    arguments.insert(arguments.begin(), "aoti-dbg");
    std::vector<char*> argv;
    argv.reserve(arguments.size() + 1);
    for (std::string& argument : arguments)
        argv.push_back(argument.data());
    argv.push_back(nullptr);
    const int none = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (none >= 0) dup2(none, STDIN_FILENO);
    if (dup2(out, STDOUT_FILENO) >= 0 && dup2(err, STDERR_FILENO) >= 0) execv(program.c_str(), argv.data());
    _exit(127);
}

bool ends_within(ChildEnd& end, Clock::duration time) {
    const Clock::time_point until = Clock::now() + time;
    while (true) {
        const pid_t ended = waitpid(end.pid, &end.status, WNOHANG);
        if (ended == end.pid || (ended < 0 && errno != EINTR)) return true;
        if (Clock::now() >= until) return false;
        nanosleep(&kBetweenLooks, nullptr);
    }
}

}  // namespace

ChildEnd run_child(const std::vector<std::string>& arguments, std::chrono::milliseconds deadline) {
    ChildEnd end;
    const Descriptor out(memfd_create("aoti-dbg-out", MFD_CLOEXEC));
    const Descriptor err(memfd_create("aoti-dbg-err", MFD_CLOEXEC));
    const std::string program = own_program();
    if (out.number() >= 0 && err.number() >= 0) end.pid = fork();
    if (end.pid < 0) {
        end.why_not_started = std::strerror(errno);
        return end;
    }
    if (end.pid == 0) become(program, arguments, out.number(), err.number());
    end.timed_out = !ends_within(end, deadline);
    if (end.timed_out) {
        kill(end.pid, SIGKILL);
        (void)ends_within(end, kToDie);
    }
    end.out = text_of(out);
    end.err = text_of(err);
    return end;
}

std::string trouble_of(const ChildEnd& end, std::chrono::milliseconds deadline) {
    if (!end.why_not_started.empty()) return "could not be started: " + end.why_not_started;
    if (end.timed_out)
        return "did not exit within " + std::to_string(deadline.count() / 1000) + " s and was killed";
    if (WIFSIGNALED(end.status)) return "was killed by " + signal_name(WTERMSIG(end.status));
    const int status = WEXITSTATUS(end.status);
    return status == 0 ? std::string() : "exited with status " + std::to_string(status);
}

}  // namespace aoti_dbg
