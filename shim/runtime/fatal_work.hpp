// What the library does before a fatal signal ends the process.
#pragma once

#include <atomic>

namespace aoti_dbg {

/// Runs in the signal handler, at most some seconds. It must not allocate, or take a lock without a deadline.
/// Null if there is nothing to do.
inline std::atomic<void (*)()> g_work_before_fatal_end{nullptr};

}  // namespace aoti_dbg
