#include "shim/faults/fatal_signals.hpp"

#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <optional>

#include "shim/calls/session.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/calls/unwound_calls.hpp"
#include "shim/faults/reporter.hpp"
#include "shim/runtime/fatal_work.hpp"
#include "shim/runtime/process.hpp"
#include "shim/runtime/tally.hpp"

namespace aoti_dbg {
namespace {

constexpr int kFatal[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

std::atomic<pid_t> g_dying{0};

/// Returns the accessed address of a signal that the processor raised. If the processor reports no address,
/// as for a noncanonical one, the kernel marks the signal as its own.
std::optional<std::uint64_t> accessed_by(const siginfo_t& info) {
    const bool is_access = info.si_signo == SIGSEGV || info.si_signo == SIGBUS;
    if (!is_access || info.si_code <= 0 || info.si_code >= SI_KERNEL) return std::nullopt;
    return reinterpret_cast<std::uintptr_t>(info.si_addr);
}

/// Records the signal, its thread and the calls of the thread that were unwound before it.
void note_end_by(const siginfo_t& info, std::uint32_t thread, const void* context) {
    // A fork's child without calls has no ring, and a vfork's child has no session of its own.
    Session* const session = wiped_page().session.load(std::memory_order_acquire);
    if (session == nullptr || session->pid() != getpid() || session->ring() == nullptr) return;
    ThreadState* const state = thread_state_if_any();
    if (state != nullptr && context != nullptr) {
        const auto& registers = static_cast<const ucontext_t*>(context)->uc_mcontext.gregs;
        close_unwound_records(*state, static_cast<std::uintptr_t>(registers[REG_RSP]));
    }
    session->ring()->note_signal(info.si_signo, thread, accessed_by(info));
}

void note_and_pass_on(int signal, siginfo_t* info, void* context) {
    g_dying.store(getpid());
    const long thread = syscall(SYS_gettid);
    note_end_by(*info, static_cast<std::uint32_t>(thread), context);
    if (auto* const work = g_work_before_fatal_end.load(std::memory_order_acquire)) work();
    start_reporter({signal, -1});
    struct sigaction by_default {};
    by_default.sa_handler = SIG_DFL;
    sigaction(signal, &by_default, nullptr);
    // The signal is blocked until the handler returns. It then arrives with its original information.
    if (syscall(SYS_rt_tgsigqueueinfo, getpid(), thread, signal, info) != 0)
        syscall(SYS_tgkill, getpid(), thread, signal);
}

}  // namespace

void yield_to_fatal_signal() {
    while (g_dying.load() == getpid())
        pause();
}

void watch_fatal_signals_for_faulthandler() {
    const char* const enabled = getenv("PYTHONFAULTHANDLER");
    // Only then does the command wait for the exit, and only the ring records which signal arrived.
    if (is_tallied() && options().triage && enabled != nullptr && *enabled != '\0') watch_fatal_signals();
}

void watch_fatal_signals() {
    for (const int signal : kFatal) {
        struct sigaction present {};
        const bool is_default = sigaction(signal, nullptr, &present) == 0 &&
                                (present.sa_flags & SA_SIGINFO) == 0 && present.sa_handler == SIG_DFL;
        if (!is_default) continue;
        struct sigaction ours {};
        ours.sa_sigaction = note_and_pass_on;
        ours.sa_flags = SA_SIGINFO | SA_ONSTACK;
        sigemptyset(&ours.sa_mask);
        sigaction(signal, &ours, nullptr);
    }
}

}  // namespace aoti_dbg
