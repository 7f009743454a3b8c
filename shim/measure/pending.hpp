// Measurements that wait: what comes after one call and what comes before the next on a stream are one point,
// so what a call left is measured with the next call, unless something comes between that could change the
// memory, unmap it, or tell somebody that the stream is done. Whoever is such a something asks here first.
//
// Streams go by the handles of the driver: nullptr is the legacy stream, CU_STREAM_PER_THREAD the calling
// thread's own.
#pragma once

#include <atomic>
#include <cstdint>

namespace aoti_dbg {

/// Streams on which something waits to be measured, or was measured and the stream has not gone on since.
extern std::atomic<std::uint32_t> g_pending_points;

/// Measures everything that waits, on all streams. Throws nothing and leaves errno as it was.
void flush_pending();

/// The same for what work on this stream could get ahead of: its own points, and those of the streams that
/// CUDA orders with it (the legacy stream with all blocking ones, and each of these with it).
void flush_pending_of(void* stream);

/// For what tells others how far this stream is, but changes nothing: the same streams measure what waits,
/// and are still at the same point.
void send_pending_of(void* stream);

/// A context is about to go, or all those of a device: its results are brought home, and nothing more is
/// measured in it, or saved from it. Handles of the driver, as above.
void end_measured_context(struct CUctx_st* context);
void end_measured_contexts_of(int device);

/// The calling thread has work done on memory that is no call of a model's: what was measured in its run may
/// not hold any more.
void note_unseen_work();

/// For entries of hooks: one load where nothing waits.
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
