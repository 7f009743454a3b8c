// Watches the driver threads that handle what a device reports, above all faults. They sleep and wake ten
// times a second while nothing happens. A thread that used processor time has run, and /proc says if it only
// woke on schedule. This needs no open descriptor and no thread. Nothing here allocates or changes errno.
// Without such threads or /proc, none ever counts as called.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

namespace aoti_dbg::event_handlers {

extern std::atomic<bool> g_are_complete;

/// Searches all threads of the process for event handlers that are not watched yet. Costs a few system calls
/// per thread. What the threads have done so far does not count.
void find();

/// Call this when a context is destroyed or created, because new contexts bring threads of their own.
inline void expect_others() {
    g_are_complete.store(false, std::memory_order_relaxed);
}
inline void find_if_any_are_missing() {
    if (!g_are_complete.load(std::memory_order_relaxed)) [[unlikely]]
        find();
}

/// Returns true if an event handler ran since the last call, or since it was found. A wake-up on schedule
/// does not count.
///
/// Costs less than a microsecond for each thread that did not run, and a few for one that sleeps again. Waits
/// up to a millisecond for one that still runs. Concurrent callers get the same answer.
bool have_been_called();

/// Returns the processor time of all event handlers in nanoseconds, after searching for new ones. The
/// driver's debugger threads have the same name and are included. Returns 0 if all have ended, and nothing if
/// there never was one.
std::optional<std::uint64_t> time_had();

}  // namespace aoti_dbg::event_handlers
