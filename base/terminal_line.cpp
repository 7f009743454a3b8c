// See terminal_line.hpp. Uses only libc, as message.cpp does, which depends on this file.
#include "base/terminal_line.hpp"

#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>

#include "base/errno_keeper.hpp"
#include "base/message.hpp"

namespace aoti_dbg {
namespace {

constexpr std::size_t kMostBytes = 256;
constexpr std::size_t kUsualWidth = 80;  // for a terminal that does not report its width
constexpr std::string_view kBegin = "\r";
constexpr std::string_view kEraseRest = "\x1b[K";

std::atomic<bool> g_is_open{false};
std::atomic<bool> g_is_shown{false};

// The process that draws or prints, or 0. A forked child must not inherit the lock, because no thread of the
// child would release it. Hence the lock names its process.
std::atomic<pid_t> g_holder{0};

// The process with a thread that waits for the lock, or 0. That thread wants to print, and constant redrawing
// would block it until its deadline.
std::atomic<pid_t> g_waiter{0};

bool try_lock() {
    const pid_t self = getpid();
    pid_t holder = g_holder.load(std::memory_order_relaxed);
    return holder != self && g_holder.compare_exchange_strong(holder, self, std::memory_order_acquire);
}

/// Has a deadline, because a signal handler may have interrupted the holder. The holder usually needs one
/// write(2).
bool lock() {
    constexpr int kShort = 100;
    constexpr int kMilliseconds = 200;
    bool has_it = try_lock();
    for (int tries = 0; !has_it && tries < kShort + kMilliseconds; ++tries) {
        // Set it in each round, because another waiter may have got the lock and cleared it.
        g_waiter.store(getpid(), std::memory_order_relaxed);
        const timespec millisecond{0, 1000000};
        if (tries < kShort) {
            sched_yield();
        } else {
            nanosleep(&millisecond, nullptr);
        }
        has_it = try_lock();
    }
    g_waiter.store(0, std::memory_order_relaxed);
    return has_it;
}

void unlock() {
    g_holder.store(0, std::memory_order_release);
}

/// Returns the usable width of the terminal in characters. Returns 0 if standard error is not a terminal or
/// the process is in the background, where the shell shows its prompt.
std::size_t width() {
    winsize size{};
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0) return 0;
    const pid_t foreground = tcgetpgrp(STDERR_FILENO);
    if (foreground != -1 && foreground != getpgrp()) return 0;
    // A full last column would start a new line.
    return size.ws_col == 0 ? kUsualWidth - 1 : size.ws_col - 1U;
}

bool takes_more() {
    pollfd terminal{STDERR_FILENO, POLLOUT, 0};
    return poll(&terminal, 1, 0) == 1 && terminal.revents == POLLOUT;
}

/// The caller holds the lock, unless it timed out.
void erase() {
    if (!g_is_shown.exchange(false, std::memory_order_relaxed) || width() == 0) return;
    char text[kBegin.size() + kEraseRest.size()];
    std::memcpy(text, kBegin.data(), kBegin.size());
    std::memcpy(text + kBegin.size(), kEraseRest.data(), kEraseRest.size());
    (void)!write(STDERR_FILENO, text, sizeof text);
}

void hide(bool for_good) {
    if (!g_is_open.load(std::memory_order_relaxed)) return;
    const ErrnoKeeper keeper;
    const bool locked = lock();
    if (for_good) g_is_open.store(false, std::memory_order_relaxed);
    if (takes_more()) erase();
    if (locked) unlock();
}

}  // namespace

bool open_terminal_line() {
    const ErrnoKeeper keeper;
    const char* const kind = getenv("TERM");
    const bool can_erase = kind != nullptr && *kind != '\0' && std::strcmp(kind, "dumb") != 0;
    const bool can = can_erase && was_open_at_start(STDERR_FILENO) && isatty(STDERR_FILENO) == 1;
    if (can) g_is_open.store(true, std::memory_order_relaxed);
    return can;
}

void show_terminal_line(std::string_view text) {
    const bool may_draw =
        g_is_open.load(std::memory_order_relaxed) && g_waiter.load(std::memory_order_relaxed) != getpid();
    if (!may_draw || !try_lock()) return;
    const ErrnoKeeper keeper;
    // Check again: close_terminal_line() may have run in between. It needs the lock to close.
    const std::size_t most = g_is_open.load(std::memory_order_relaxed) ? width() : 0;
    if (most != 0 && takes_more()) {
        text = text.substr(0, std::min(most, kMostBytes));
        char line[kBegin.size() + kMostBytes + kEraseRest.size()];
        char* end = std::copy(kBegin.begin(), kBegin.end(), line);
        end = std::copy(text.begin(), text.end(), end);
        end = std::copy(kEraseRest.begin(), kEraseRest.end(), end);
        g_is_shown.store(true, std::memory_order_relaxed);
        (void)!write(STDERR_FILENO, line, static_cast<std::size_t>(end - line));
    }
    unlock();
}

void hide_terminal_line() {
    hide(false);
}

void close_terminal_line() {
    hide(true);
}

TerminalLineAway::TerminalLineAway(int descriptor) {
    if (!g_is_open.load(std::memory_order_relaxed) && !g_is_shown.load(std::memory_order_relaxed)) return;
    const ErrnoKeeper keeper;
    if (isatty(descriptor) != 1) return;
    has_lock_ = lock();
    erase();
}

TerminalLineAway::~TerminalLineAway() {
    if (has_lock_) unlock();
}

}  // namespace aoti_dbg
