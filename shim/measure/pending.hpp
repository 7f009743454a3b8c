// Measurements that wait. The end of one call and the start of the next are the same point of a stream, so
// both are measured in one launch. They wait longer while calls only write other memory. Hooks flush first if
// a call can change the memory, unmap it, or signal that the stream is done. Streams are driver handles:
// nullptr is the legacy stream, CU_STREAM_PER_THREAD is the calling thread's own.
#pragma once

#include <atomic>
#include <cstdint>

struct CUctx_st;

namespace aoti_dbg {

/// Number of streams with a measurement that waits, or that was launched and the stream has not advanced
/// since.
extern std::atomic<std::uint32_t> g_pending_points;

/// Launches all waiting measurements on all streams. It does not throw and preserves errno.
void flush_pending();

/// Does the same for the streams that work on `stream` could overtake: `stream` itself and those that CUDA
/// orders with it. CUDA orders the legacy stream with every blocking stream.
void flush_pending_of(void* stream);

/// For calls that signal the progress of this stream but change nothing. The same streams launch their
/// waiting measurements and stay at the same point.
void send_pending_of(void* stream);

/// PyTorch's allocator hands out this memory. Inside a call, the call may write it without declaring that, so
/// measurements of it are launched. Between calls, the wrapper allocates, and its calls declare what they
/// write.
void note_torch_allocation(std::uint64_t address, std::uint64_t bytes);

/// True inside a call whose own work may run before the measurements that wait on its stream. It is known
/// what the call writes, and no measurement of that waits.
bool lets_pending_wait(void* stream);

/// The calling thread starts work on memory that is not a call of a model. The measurements of its run may no
/// longer be valid.
void note_unseen_work();

/// True if the calling thread is directly in a run, and the run has made no call yet.
bool is_before_first_call();

/// The calling thread is directly in a run and waited for other work. Measurements of the run that were
/// launched before may no longer be valid.
void forget_launched();

/// For the entry of a hook. It costs one load if nothing waits.
inline void flush_if_pending() {
    if (g_pending_points.load(std::memory_order_relaxed) != 0) [[unlikely]]
        flush_pending();
}

inline void flush_if_pending_of(void* stream) {
    if (g_pending_points.load(std::memory_order_relaxed) != 0) [[unlikely]]
        flush_pending_of(stream);
}

inline void send_if_pending_of(void* stream) {
    if (g_pending_points.load(std::memory_order_relaxed) != 0) [[unlikely]]
        send_pending_of(stream);
}

}  // namespace aoti_dbg
