#include "shim/observe/event_handlers.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/descriptor.hpp"
#include "base/errno_keeper.hpp"

namespace aoti_dbg::event_handlers {

std::atomic<bool> g_are_complete{false};

namespace {

constexpr char kName[] = "cuda-EvtHandlr\n";

struct Watched {
    std::atomic<pid_t> thread{0};  // 0: none
    std::atomic<std::uint64_t> time{0};
};

// A context has one; of more than these the first are watched.
constexpr std::size_t kMost = 16;
Watched g_watched[kMost];
std::atomic<bool> g_is_finding{false};

/// Nanoseconds on a processor, of a thread of this process; false where there is none by that number.
bool time_of(pid_t thread, std::uint64_t& time) {
    // As the kernel encodes it: what glibc offers for this wants a pthread_t.
    constexpr unsigned kOfThread = 4;
    constexpr unsigned kScheduler = 2;
    const auto clock =
        static_cast<clockid_t>((~static_cast<unsigned>(thread) << 3U) | kOfThread | kScheduler);
    timespec had{};
    if (clock_gettime(clock, &had) != 0) return false;
    time = static_cast<std::uint64_t>(had.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(had.tv_nsec);
    return true;
}

bool is_handler(pid_t thread) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/comm", thread);
    const Descriptor file(open(path, O_RDONLY | O_CLOEXEC));
    if (file.number() < 0) return false;
    char name[sizeof kName];
    const ssize_t bytes = read(file.number(), name, sizeof name);
    return bytes == sizeof kName - 1 && memcmp(name, kName, sizeof kName - 1) == 0;
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
    place->thread.store(thread, std::memory_order_release);
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
            if (thread > 0 && is_handler(thread)) watch(thread);  // "." and ".." are no numbers
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

bool have_run() {
    const ErrnoKeeper errno_keeper;
    bool has_one = false;
    for (Watched& one : g_watched) {
        pid_t thread = one.thread.load(std::memory_order_acquire);
        if (thread == 0) continue;
        std::uint64_t time = 0;
        if (time_of(thread, time)) {
            has_one |= one.time.exchange(time, std::memory_order_relaxed) != time;
        } else {
            // It has ended with its context, or this is a fork's child.
            one.thread.compare_exchange_strong(thread, 0, std::memory_order_relaxed);
            expect_others();
        }
    }
    return has_one;
}

}  // namespace aoti_dbg::event_handlers
