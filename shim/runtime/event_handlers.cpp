#include "shim/runtime/event_handlers.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>

#include "base/descriptor.hpp"
#include "base/errno_keeper.hpp"
#include "shim/runtime/clock.hpp"

namespace aoti_dbg::event_handlers {

std::atomic<bool> g_are_complete{false};

namespace {

constexpr char kName[] = "cuda-EvtHandlr\n";

struct Watched {
    std::atomic<pid_t> thread{0};  // 0: none
    std::atomic<std::uint64_t> time{0};
    std::atomic<std::int32_t> period{0};  // milliseconds; the longest wait for an event
};

// Known drivers use this period. A longer one is detected.
constexpr std::int32_t kPeriod = 100;
// A wake-up on schedule takes a twentieth of this.
constexpr std::uint64_t kTurn = 1'000'000;

#ifdef SYS_poll
constexpr long kPoll = SYS_poll;
#else
constexpr long kPoll = -2;  // matches no call; /proc does not show the timeout of the others
#endif

// A context has one event handler, and the debugger has eight. If there are more, only the first ones are
// watched.
constexpr std::size_t kMost = 32;
Watched g_watched[kMost];
std::atomic<std::size_t> g_used{0};  // all used places are before this one
std::atomic<bool> g_is_finding{false};
std::atomic<bool> g_has_found_one{false};

/// Reads the processor time of a thread in nanoseconds. Returns false if this process has no such thread.
bool time_of(pid_t thread, std::uint64_t& time) {
    // This is the kernel's clock id. The glibc function for it needs a pthread_t.
    constexpr unsigned kOfThread = 4;
    constexpr unsigned kScheduler = 2;
    const auto clock =
        static_cast<clockid_t>((~static_cast<unsigned>(thread) << 3U) | kOfThread | kScheduler);
    timespec had{};
    if (clock_gettime(clock, &had) != 0) return false;
    time = static_cast<std::uint64_t>(had.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(had.tv_nsec);
    return true;
}

/// Reads at most `room` characters of a thread's file in /proc. Returns "" if the file is unreadable.
std::string_view read_thread_file(pid_t thread, const char* what, char* text, std::size_t room) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/%s", thread, what);
    const Descriptor file(open(path, O_RDONLY | O_CLOEXEC));
    const ssize_t bytes = file.number() < 0 ? 0 : read(file.number(), text, room);
    return {text, bytes < 0 ? 0 : static_cast<std::size_t>(bytes)};
}

bool is_handler(pid_t thread) {
    char name[sizeof kName];
    return read_thread_file(thread, "comm", name, sizeof name) == kName;
}

/// Returns the timeout of a thread's poll() in milliseconds, negative if it waits forever. Returns nothing if
/// the thread does something else or the file is empty.
std::optional<std::int32_t> rest_in(const char* text) {
    char* at = nullptr;
    if (strtol(text, &at, 10) != kPoll) return std::nullopt;
    strtoull(at, &at, 16);  // the descriptors
    strtoull(at, &at, 16);  // their number
    return static_cast<std::int32_t>(strtoull(at, &at, 16));
}

/// Returns true if the thread woke on schedule and sleeps again for its whole period. After any other
/// wake-up, it sleeps for the rest of a period.
///
/// `time` is its processor time, and is updated to the value at which it sleeps. Waits for a running thread
/// as long as it may only be waking on schedule.
bool has_only_turned(Watched& one, pid_t thread, std::uint64_t& time) {
    char text[128];
    const std::uint64_t until = monotonic_nanoseconds() + kTurn;
    for (bool is_first = true; is_first || monotonic_nanoseconds() < until; is_first = false) {
        const std::string_view call = read_thread_file(thread, "syscall", text, sizeof text - 1);
        const std::uint64_t before = time;
        if (!time_of(thread, time)) return false;
        if (call == "running\n" || time != before) {
            sched_yield();
            continue;
        }
        text[call.size()] = '\0';
        const std::optional<std::int32_t> rest = rest_in(text);
        if (!rest || *rest < one.period.load(std::memory_order_relaxed)) return false;
        one.period.store(*rest, std::memory_order_relaxed);
        return true;
    }
    return false;
}

void watch(pid_t thread) {
    Watched* place = nullptr;
    for (Watched& one : g_watched) {
        const pid_t there = one.thread.load(std::memory_order_relaxed);
        if (there == thread) return;
        if (there == 0 && place == nullptr) place = &one;
    }
    std::uint64_t time = 0;
    if (place == nullptr || !time_of(thread, time)) return;
    place->time.store(time, std::memory_order_relaxed);
    place->period.store(kPeriod, std::memory_order_relaxed);
    place->thread.store(thread, std::memory_order_release);
    const auto used = static_cast<std::size_t>(place - g_watched) + 1;
    if (g_used.load(std::memory_order_relaxed) < used) g_used.store(used, std::memory_order_release);
    g_has_found_one.store(true, std::memory_order_relaxed);
}

void look_through(int tasks) {
    alignas(dirent64) char entries[4096];
    for (;;) {
        const ssize_t bytes = getdents64(tasks, entries, sizeof entries);
        if (bytes <= 0) return;
        for (ssize_t at = 0; at < bytes;) {
            const auto* const entry = reinterpret_cast<const dirent64*>(entries + at);
            at += entry->d_reclen;
            const auto thread = static_cast<pid_t>(strtol(entry->d_name, nullptr, 10));
            if (thread > 0 && is_handler(thread)) watch(thread);  // "." and ".." are not numbers
        }
    }
}

}  // namespace

void find() {
    const ErrnoKeeper errno_keeper;
    if (g_is_finding.exchange(true, std::memory_order_acquire)) return;
    g_are_complete.store(true, std::memory_order_relaxed);
    const Descriptor tasks(open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (tasks.number() >= 0) look_through(tasks.number());
    g_is_finding.store(false, std::memory_order_release);
}

bool have_been_called() {
    const ErrnoKeeper errno_keeper;
    bool has_one = false;
    for (Watched& one : std::span(g_watched, g_used.load(std::memory_order_acquire))) {
        pid_t thread = one.thread.load(std::memory_order_acquire);
        if (thread == 0) continue;
        std::uint64_t time = 0;
        if (time_of(thread, time)) {
            if (one.time.load(std::memory_order_relaxed) == time) continue;
            // Update the time only now, so that all concurrent callers see the same event.
            has_one |= !has_only_turned(one, thread, time);
            one.time.store(time, std::memory_order_relaxed);
        } else {
            // The thread ended with its context, or this is a forked child.
            one.thread.compare_exchange_strong(thread, 0, std::memory_order_relaxed);
            expect_others();
        }
    }
    return has_one;
}

std::optional<std::uint64_t> time_had() {
    const ErrnoKeeper errno_keeper;
    find();
    if (!g_has_found_one.load(std::memory_order_relaxed)) return std::nullopt;
    std::uint64_t all = 0;
    for (Watched& one : g_watched) {
        pid_t thread = one.thread.load(std::memory_order_acquire);
        std::uint64_t time = 0;
        if (thread != 0 && time_of(thread, time))
            all += time;
        else if (thread != 0)
            one.thread.compare_exchange_strong(thread, 0, std::memory_order_relaxed);
    }
    return all;
}

}  // namespace aoti_dbg::event_handlers
