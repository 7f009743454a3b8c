// Whether a kernel has faulted, as far as driver calls have returned it. Known only if an observer asks for
// it (capture/).
#pragma once

#include <atomic>

namespace aoti_dbg {

inline std::atomic<bool> g_context_has_ended{false};

/// True once a driver call returned an error after which its context is unusable.
inline bool context_has_ended() {
    return g_context_has_ended.load(std::memory_order_relaxed);
}
inline void note_ended_context() {
    g_context_has_ended.store(true, std::memory_order_relaxed);
}

}  // namespace aoti_dbg
