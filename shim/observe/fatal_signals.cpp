#include "shim/observe/fatal_signals.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <csignal>

#include "shim/report/reporter.hpp"

namespace aoti_dbg {
namespace {

constexpr int kFatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

std::atomic<pid_t> g_dying{0};

void report_and_pass_on(int signal, siginfo_t* info, void* /*context*/) {
    g_dying.store(getpid());
    start_reporter({signal, -1});
    struct sigaction by_default {};
    by_default.sa_handler = SIG_DFL;
    sigaction(signal, &by_default, nullptr);
    // It is blocked until the handler returns, and then comes as it came.
    const long thread = syscall(SYS_gettid);
    if (syscall(SYS_rt_tgsigqueueinfo, getpid(), thread, signal, info) != 0)
        syscall(SYS_tgkill, getpid(), thread, signal);
}

}  // namespace

void yield_to_fatal_signal() {
    while (g_dying.load() == getpid())
        pause();
}

void watch_fatal_signals() {
    for (const int signal : kFatal) {
        struct sigaction present {};
        const bool is_default = sigaction(signal, nullptr, &present) == 0 &&
                                (present.sa_flags & SA_SIGINFO) == 0 && present.sa_handler == SIG_DFL;
        if (!is_default) continue;
        struct sigaction ours {};
        ours.sa_sigaction = report_and_pass_on;
        ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
        sigemptyset(&ours.sa_mask);
        sigaction(signal, &ours, nullptr);
    }
}

}  // namespace aoti_dbg
