// Memory that PyTorch's caching allocator hands out. An op may allocate memory for itself, and the allocator
// reuses what was freed last without a call of the driver. A measurement that waits must be launched before
// the op writes there. The allocator reports each allocation to c10::reportMemoryUsageToProfiler, and the
// library replaces that function in the allocator's import slot.
#pragma once

#include <atomic>

namespace aoti_dbg {

/// An allocation on CUDA was reported.
extern std::atomic<bool> g_allocations_reported;

/// Starts to watch, once per process. Call it when the allocator's library is loaded.
void watch_torch_allocations();

/// True if the allocator reports what it hands out. Otherwise, the library does not learn when freed memory
/// gets a new owner: another allocator is in use, or PyTorch is linked in a way that has no import slot.
[[nodiscard]] inline bool are_allocations_watched() {
    return g_allocations_reported.load(std::memory_order_relaxed);
}

}  // namespace aoti_dbg
