// Whether a driver call has returned the error of a fault. Tracked only if a feature requests it
// (--capture-on fault).
#pragma once

#include <atomic>
#include <cstdint>

#include "serializer/cuda_error.hpp"

namespace aoti_dbg {

inline std::atomic<bool> g_watches_contexts{false};
inline std::atomic<bool> g_context_has_ended{false};

/// Call this once, before the program uses a device.
inline void watch_for_ended_context() {
    g_watches_contexts.store(true, std::memory_order_relaxed);
}

/// Takes the error of a driver call by the program or the library.
inline void note_context_error(std::int32_t error) {
    if (!g_watches_contexts.load(std::memory_order_relaxed) || !ends_context(error)) return;
    g_context_has_ended.store(true, std::memory_order_relaxed);
}

/// True once a driver call returned an error after which its context is unusable.
inline bool context_has_ended() {
    return g_context_has_ended.load(std::memory_order_relaxed);
}

}  // namespace aoti_dbg
