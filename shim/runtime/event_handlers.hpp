// The driver's own threads that take what a device reports of itself, faults above all. As long as all is
// well they sleep, and come round ten times a second. They are watched by the processor time that they have
// had, of which the kernel tells without a file; if it has grown, what they wait for now says whether they
// only came round. No descriptor is held, and nobody runs for it. Nothing here allocates or changes errno.
//
// Where the driver has no such threads, or /proc is not there, none of them is ever called.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

namespace aoti_dbg::event_handlers {

extern std::atomic<bool> g_are_complete;

/// Looks for those that are not watched yet, among all threads of the process: some calls of the system for
/// each. What they have done by now does not count.
void find();

/// Contexts go, and others may come, with threads of their own.
inline void expect_others() {
    g_are_complete.store(false, std::memory_order_relaxed);
}
inline void find_if_any_are_missing() {
    if (!g_are_complete.load(std::memory_order_relaxed)) [[unlikely]]
        find();
}

/// Whether one of them has run since this was asked last, or since it was found, and not only because its
/// time had come. Less than a microsecond for each that has not run, some for one that sleeps again; one that
/// still runs is waited for, up to a millisecond. Who asks meanwhile is told the same.
bool have_been_called();

/// Nanoseconds on a processor that those that are there have had, those of the driver's debugger with them,
/// which have the same name; 0 where all have ended, and nothing where there has never been one. Looks for
/// them first.
std::optional<std::uint64_t> time_had();

}  // namespace aoti_dbg::event_handlers
