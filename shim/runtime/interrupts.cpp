#include "shim/runtime/interrupts.hpp"

#include <unistd.h>

#include <atomic>

namespace aoti_dbg {
namespace {

// The handler uses these. It can run in any thread, and in a forked child.
std::atomic<unsigned> g_count{0};
std::atomic<pid_t> g_counting{0};
struct sigaction g_before {};

static_assert(std::atomic<unsigned>::is_always_lock_free);

/// A child that was forked in the meantime inherits this handler. There, the signal gets its previous
/// disposition back.
void count_or_pass_on(int signal) {
    if (getpid() == g_counting.load(std::memory_order_relaxed)) {
        g_count.fetch_add(1, std::memory_order_relaxed);
        return;
    }
    sigaction(signal, &g_before, nullptr);
    raise(signal);  // delivered when this returns, because the handler blocks it
}

bool is_ours(const struct sigaction& action) {
    return (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == count_or_pass_on;
}

}  // namespace

Interrupts::Interrupts() {
    if (sigaction(SIGINT, nullptr, &g_before) != 0 || is_ours(g_before)) return;
    if (g_before.sa_handler == SIG_IGN) return;
    sigset_t interrupt;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    pthread_sigmask(SIG_SETMASK, nullptr, &mask_before_);
    sigset_t pending;
    was_pending_ = sigismember(&mask_before_, SIGINT) == 1 && sigpending(&pending) == 0 &&
                   sigismember(&pending, SIGINT) == 1;

    g_counting.store(getpid(), std::memory_order_relaxed);
    struct sigaction ours {};
    ours.sa_handler = count_or_pass_on;
    ours.sa_flags = SA_RESTART | SA_ONSTACK;
    sigemptyset(&ours.sa_mask);
    if (sigaction(SIGINT, &ours, nullptr) != 0) return;
    are_counted_ = true;
    pthread_sigmask(SIG_UNBLOCK, &interrupt, nullptr);
    // A pending signal was sent before us and has been delivered by now, so it does not count.
    g_count.store(0, std::memory_order_relaxed);
}

Interrupts::~Interrupts() {
    if (!are_counted_) return;
    pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
    struct sigaction present {};
    // A handler that the program has installed since then stays.
    if (sigaction(SIGINT, nullptr, &present) == 0 && is_ours(present)) sigaction(SIGINT, &g_before, nullptr);
    if (was_pending_) raise(SIGINT);
}

unsigned Interrupts::count() const {
    return are_counted_ ? g_count.load(std::memory_order_relaxed) : 0;
}

}  // namespace aoti_dbg
