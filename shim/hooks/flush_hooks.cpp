// The hooks of driver calls between two launches: copies, sets, frees, and calls that reveal a stream's
// progress. Each launches the measurements that must come first, then calls the real function with the same
// arguments. It does nothing if no measurement is pending. On request, it also records waits (driver_waits)
// and freed memory (allocations).

// Some calls change memory. Others reveal how far a stream is (an event, a callback, a query that returns
// "done"), or make a stream wait for others. If a tensor is measured later than that, other code may already
// have overwritten it.
//
// An event or a query launches the pending measurements of its stream but does not move the stream. A wait
// for an event covers what was launched when the event was recorded. Copies from arrays to arrays or host
// memory are not hooked.
#include "shim/hooks/hook_support.hpp"  // first, because it configures cuda.h

#include "shim/calls/driver_waits.hpp"
#include "shim/check/races.hpp"
#include "shim/faults/allocations.hpp"
#include "shim/faults/fault_window.hpp"
#include "shim/hooks/copy_ranges.hpp"
#include "shim/measure/pending.hpp"
#include "shim/runtime/launch_count.hpp"
#include "shim/runtime/process.hpp"

// Only newer toolkits declare these.
#if CUDA_VERSION < 12080
struct CUmemcpyAttributes;
struct CUDA_MEMCPY3D_BATCH_OP;
#endif

using aoti_dbg::count_copy;
using aoti_dbg::count_fill;
using aoti_dbg::flush_if_pending;
using aoti_dbg::flush_if_pending_of;
using aoti_dbg::kNoDriver;
using aoti_dbg::LeavingMemory;
using aoti_dbg::legacy_default;
using aoti_dbg::of_all;
using aoti_dbg::of_event;
using aoti_dbg::of_memory;
using aoti_dbg::of_stream;
using aoti_dbg::ordering;
using aoti_dbg::per_thread_default;
using aoti_dbg::send_if_pending_of;
using aoti_dbg::allocations::Way;
using aoti_dbg::touched::between_peers;
using aoti_dbg::touched::copied;
using aoti_dbg::touched::fetched;
using aoti_dbg::touched::target_of;
using aoti_dbg::touched::Touched;
using aoti_dbg::touched::written;
namespace races = aoti_dbg::races;

namespace {

/// Calls `note` if the library looks for races.
template <typename Note, typename... Arguments>
void order(Note note, Arguments... arguments) {
    if (ordering()) [[unlikely]]
        note(arguments...);
}

/// The driver may use a kernel for a copy between two device addresses.
void count_touched(CUstream stream, const Touched& touched) {
    if (touched.second.bytes != 0 && touched.first.bytes != 0)
        count_copy(touched.second.address, touched.first.address, stream);
}

/// Counts the copies of a batch. Reads its lists only if launches are counted.
void count_copies(CUstream stream, const CUdeviceptr* to, const CUdeviceptr* from, const size_t* bytes,
                  size_t count) {
    if (!aoti_dbg::g_counts_launches.load(std::memory_order_relaxed)) return;
    if (to == nullptr || from == nullptr || bytes == nullptr) return;
    for (size_t i = 0; i < count; ++i)
        count_touched(stream, copied(to[i], from[i], bytes[i]));
}

void note_touched(const char* function, CUstream stream, const Touched& touched) {
    const Touched seen = touched.is_of_peers ? Touched{} : touched;
    order(races::note_touches, function, stream, seen.first, seen.second);
    count_touched(stream, touched);
}

/// Handles a copy to any target. The host may have to wait for a copy to its memory.
void note_copied(const char* function, CUstream stream, const Touched& touched, CUdeviceptr to) {
    note_touched(function, stream, touched);
    if (ordering() && races::is_waited_for(to)) races::note_callback(stream);
}

/// Call this when a stream is about to get work.
void flush_for_work_on(CUstream stream) {
    flush_if_pending_of(stream);
    order(races::note_work, stream);
}

/// Call this for stream work that waits for a permission from elsewhere.
void flush_for_wait_of(CUstream stream) {
    flush_if_pending_of(stream);
    order(races::note_unseen_wait, stream);
}
void flush_for_wait_of(CUstream stream, CUevent event) {
    flush_if_pending_of(stream);
    order(races::note_waits, stream, event);
}

/// Call this for work from which the host learns the stream's progress.
void flush_for_callback_of(CUstream stream) {
    flush_if_pending_of(stream);
    order(races::note_callback, stream);
}

/// Call this for a mix of waits and such work.
void flush_for_values_of(CUstream stream) {
    flush_for_wait_of(stream);
    order(races::note_callback, stream);
}

void note_event(CUevent event, CUstream stream) {
    aoti_dbg::note_event(event, stream);
    order(races::note_recorded, event, stream);
}

/// Work that the host waited for, or that a query reported as done, precedes everything that the host does
/// next.
CUresult waited(aoti_dbg::Awaited awaited, CUresult result) {
    if (ordering() && !awaited.is_perhaps && result == CUDA_SUCCESS) [[unlikely]]
        races::note_waited(awaited);
    return result;
}

/// Returns what a copy to the host waits for. If the memory is pinned, the call may not wait.
aoti_dbg::Awaited of_copy(CUstream stream, const void* to) {
    aoti_dbg::Awaited awaited = of_stream(stream);
    awaited.is_perhaps = ordering() && !races::is_waited_for(reinterpret_cast<CUdeviceptr>(to));
    return awaited;
}

}  // namespace

#define AOTI_DBG_HOOK_AFTER(first, name, parameters, arguments) \
    AOTI_DBG_EXPORT CUresult name parameters {                  \
        first;                                                  \
        auto* real = AOTI_DBG_REAL(name);                       \
        return real == nullptr ? kNoDriver : real arguments;    \
    }

/// Hooks a call that may return only after the device has finished what is `awaited`.
#define AOTI_DBG_BLOCKING_HOOK_AFTER(first, awaited, call, name, parameters) \
    AOTI_DBG_EXPORT CUresult name parameters {                               \
        first;                                                               \
        auto* real = AOTI_DBG_REAL(name);                                    \
        if (real == nullptr) return kNoDriver;                               \
        static constinit aoti_dbg::WaitName wait_name{#name};                \
        aoti_dbg::Wait wait(wait_name, awaited);                             \
        return waited(awaited, wait.end(call));                              \
    }

/// Hooks a call that informs the host that the device has finished. It holds the result back while a fault is
/// being recorded.
#define AOTI_DBG_WAITING_HOOK_AFTER(first, awaited, name, parameters, arguments) \
    AOTI_DBG_BLOCKING_HOOK_AFTER(                                                \
        first, awaited, aoti_dbg::wait_through_fault([&] { return real arguments; }), name, parameters)

/// Hooks a query of the device's progress.
#define AOTI_DBG_ASKING_HOOK_AFTER(first, asked, call, name, parameters)  \
    AOTI_DBG_EXPORT CUresult name parameters {                            \
        first;                                                            \
        auto* real = AOTI_DBG_REAL(name);                                 \
        if (real == nullptr) return kNoDriver;                            \
        static constinit aoti_dbg::WaitName wait_name{#name};             \
        return waited(asked, aoti_dbg::answered(wait_name, asked, call)); \
    }

#define AOTI_DBG_FLUSH_HOOK(name, flush, parameters, arguments)                                           \
    AOTI_DBG_HOOK_AFTER(flush; if (aoti_dbg::g_measuring) aoti_dbg::note_unseen_work(), name, parameters, \
                               arguments)

/// Hooks a call that affects all streams.
#define AOTI_DBG_FLUSH(name, parameters, arguments) \
    AOTI_DBG_FLUSH_HOOK(name, flush_if_pending(), parameters, arguments)

/// Hooks a call that affects the parameter `stream`, and its twin for the per-thread default stream. `flush`
/// gets the stream.
#define AOTI_DBG_FLUSH_STREAM_BY(flush, name, twin, parameters, arguments)          \
    AOTI_DBG_FLUSH_HOOK(name, flush(legacy_default(stream)), parameters, arguments) \
    AOTI_DBG_FLUSH_HOOK(twin, flush(per_thread_default(stream)), parameters, arguments)
#define AOTI_DBG_FLUSH_STREAM(name, twin, parameters, arguments) \
    AOTI_DBG_FLUSH_STREAM_BY(flush_for_work_on, name, twin, parameters, arguments)

/// Hooks a call that accesses memory on a stream.
#define AOTI_DBG_FLUSH_TOUCH(name, flush, stream, touched, parameters, arguments) \
    AOTI_DBG_FLUSH_HOOK(name, flush; note_touched(#name, stream, touched), parameters, arguments)
#define AOTI_DBG_FLUSH_TOUCH_TWINS(name, twin, touched, parameters, arguments)                               \
    AOTI_DBG_FLUSH_TOUCH(name, flush_if_pending_of(legacy_default(stream)), legacy_default(stream), touched, \
                         parameters, arguments)                                                              \
    AOTI_DBG_FLUSH_TOUCH(twin, flush_if_pending_of(per_thread_default(stream)), per_thread_default(stream),  \
                         touched, parameters, arguments)

/// Hooks a call in which the host waits for work that an earlier hook noted. Afterwards, the host may write
/// to memory that both can access.
#define AOTI_DBG_WAIT(name, awaited, parameters, arguments)                                             \
    AOTI_DBG_WAITING_HOOK_AFTER(if (aoti_dbg::g_measuring) aoti_dbg::note_unseen_work(), awaited, name, \
                                parameters, arguments)
#define AOTI_DBG_FLUSH_WAIT(name, flush, awaited, parameters, arguments)                                 \
    AOTI_DBG_WAITING_HOOK_AFTER(flush; if (aoti_dbg::g_measuring) aoti_dbg::note_unseen_work(), awaited, \
                                       name, parameters, arguments)

/// Hooks a copy that is complete when it returns and may wait for other work, and its twin for the per-thread
/// default stream.
#define AOTI_DBG_FLUSH_BLOCKING(name, stream, touched, parameters, arguments)                                \
    AOTI_DBG_BLOCKING_HOOK_AFTER(flush_if_pending(); note_touched(#name, stream, touched);                   \
                                 if (aoti_dbg::g_measuring) aoti_dbg::note_unseen_work(), of_stream(stream), \
                                 real arguments, name, parameters)
#define AOTI_DBG_FLUSH_BLOCKING_TWINS(name, twin, touched, parameters, arguments)          \
    AOTI_DBG_FLUSH_BLOCKING(name, legacy_default(nullptr), touched, parameters, arguments) \
    AOTI_DBG_FLUSH_BLOCKING(twin, per_thread_default(nullptr), touched, parameters, arguments)

/// Hooks a call that changes no memory. The parameter `event` will reveal the progress of the parameter
/// `stream`.
#define AOTI_DBG_RECORD_EVENT(name, flavour, parameters, arguments) \
    AOTI_DBG_HOOK_AFTER(send_if_pending_of(flavour(stream));        \
                        note_event(event, flavour(stream)), name, parameters, arguments)

// ---- freed memory ----

// cuMemFree waits for the whole device.
AOTI_DBG_BLOCKING_HOOK_AFTER(flush_if_pending(); if (aoti_dbg::g_measuring) aoti_dbg::note_unseen_work();
                             order(races::note_gone, address);
                             LeavingMemory leaving(Way::free, address), of_memory(),
                             leaving.end(real(address)), cuMemFree_v2, (CUdeviceptr address))

#define AOTI_DBG_FLUSH_FREE(name, flush, leaves, parameters, arguments) \
    AOTI_DBG_EXPORT CUresult name parameters {                          \
        flush;                                                          \
        if (aoti_dbg::g_measuring) aoti_dbg::note_unseen_work();        \
        auto* real = AOTI_DBG_REAL(name);                               \
        if (real == nullptr) return kNoDriver;                          \
        LeavingMemory leaving leaves;                                   \
        return leaving.end(real arguments);                             \
    }
#define AOTI_DBG_FREE_ASYNC(name, flavour)                                         \
    AOTI_DBG_FLUSH_FREE(name, flush_if_pending_of(flavour(stream));                \
                        order(races::note_freed, #name, address, flavour(stream)), \
                        (Way::free_async, address, 0, flavour(stream)),            \
                        (CUdeviceptr address, CUstream stream), (address, stream))
AOTI_DBG_FREE_ASYNC(cuMemFreeAsync, legacy_default)
AOTI_DBG_FREE_ASYNC(cuMemFreeAsync_ptsz, per_thread_default)
AOTI_DBG_FLUSH_FREE(cuMemUnmap, flush_if_pending(); order(races::note_unmapped, address, bytes),
                                                    (Way::unmap, address, bytes),
                                                    (CUdeviceptr address, size_t bytes), (address, bytes))
AOTI_DBG_FLUSH_FREE(cuIpcCloseMemHandle, flush_if_pending(); order(races::note_gone, address),
                                                             (Way::close_ipc, address), (CUdeviceptr address),
                                                             (address))
AOTI_DBG_FLUSH(cuMemPoolDestroy, (CUmemoryPool pool), (pool))
AOTI_DBG_FLUSH(cuMemPoolTrimTo, (CUmemoryPool pool, size_t bytes), (pool, bytes))

// ---- copies ----

AOTI_DBG_FLUSH_BLOCKING_TWINS(cuMemcpy, cuMemcpy_ptds, copied(to, from, bytes),
                              (CUdeviceptr to, CUdeviceptr from, size_t bytes), (to, from, bytes))
AOTI_DBG_FLUSH_BLOCKING_TWINS(cuMemcpyHtoD_v2, cuMemcpyHtoD_v2_ptds, written(to, bytes),
                              (CUdeviceptr to, const void* from, size_t bytes), (to, from, bytes))
#define AOTI_DBG_FETCH(name, flush, stream, awaited, parameters, arguments) \
    AOTI_DBG_FLUSH_WAIT(name, flush;                                        \
                        note_touched(#name, stream, fetched(from, bytes)), awaited, parameters, arguments)
AOTI_DBG_FETCH(cuMemcpyDtoH_v2, flush_if_pending(), legacy_default(nullptr),
               of_stream(legacy_default(nullptr)), (void* to, CUdeviceptr from, size_t bytes),
               (to, from, bytes))
AOTI_DBG_FETCH(cuMemcpyDtoH_v2_ptds, flush_if_pending(), per_thread_default(nullptr),
               of_stream(per_thread_default(nullptr)), (void* to, CUdeviceptr from, size_t bytes),
               (to, from, bytes))
AOTI_DBG_FLUSH_TOUCH(cuMemcpyDtoD_v2, flush_if_pending(), legacy_default(nullptr), copied(to, from, bytes),
                     (CUdeviceptr to, CUdeviceptr from, size_t bytes), (to, from, bytes))
AOTI_DBG_FLUSH_TOUCH(cuMemcpyDtoD_v2_ptds, flush_if_pending(), per_thread_default(nullptr),
                     copied(to, from, bytes), (CUdeviceptr to, CUdeviceptr from, size_t bytes),
                     (to, from, bytes))
AOTI_DBG_FLUSH_BLOCKING_TWINS(cuMemcpyDtoA_v2, cuMemcpyDtoA_v2_ptds, fetched(from, bytes),
                              (CUarray to, size_t offset, CUdeviceptr from, size_t bytes),
                              (to, offset, from, bytes))
AOTI_DBG_FLUSH_BLOCKING_TWINS(cuMemcpyAtoD_v2, cuMemcpyAtoD_v2_ptds, written(to, bytes),
                              (CUdeviceptr to, CUarray from, size_t offset, size_t bytes),
                              (to, from, offset, bytes))
AOTI_DBG_FLUSH_BLOCKING_TWINS(cuMemcpyPeer, cuMemcpyPeer_ptds, between_peers(copied(to, from, bytes)),
                              (CUdeviceptr to, CUcontext there, CUdeviceptr from, CUcontext here,
                               size_t bytes),
                              (to, there, from, here, bytes))
AOTI_DBG_FLUSH_BLOCKING_TWINS(cuMemcpy2D_v2, cuMemcpy2D_v2_ptds, copied(copy), (const CUDA_MEMCPY2D* copy),
                              (copy))
AOTI_DBG_FLUSH_BLOCKING_TWINS(cuMemcpy2DUnaligned_v2, cuMemcpy2DUnaligned_v2_ptds, copied(copy),
                              (const CUDA_MEMCPY2D* copy), (copy))
AOTI_DBG_FLUSH_BLOCKING_TWINS(cuMemcpy3D_v2, cuMemcpy3D_v2_ptds, copied(copy), (const CUDA_MEMCPY3D* copy),
                              (copy))
AOTI_DBG_FLUSH_BLOCKING_TWINS(cuMemcpy3DPeer, cuMemcpy3DPeer_ptds, between_peers(copied(copy)),
                              (const CUDA_MEMCPY3D_PEER* copy), (copy))

#define AOTI_DBG_COPY_SOMEWHERE(name, flavour)                                             \
    AOTI_DBG_FLUSH_HOOK(name, flush_if_pending_of(flavour(stream));                        \
                        note_copied(#name, flavour(stream), copied(to, from, bytes), to),  \
                        (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream), \
                        (to, from, bytes, stream))
AOTI_DBG_COPY_SOMEWHERE(cuMemcpyAsync, legacy_default)
AOTI_DBG_COPY_SOMEWHERE(cuMemcpyAsync_ptsz, per_thread_default)
AOTI_DBG_FLUSH_TOUCH_TWINS(cuMemcpyHtoDAsync_v2, cuMemcpyHtoDAsync_v2_ptsz, written(to, bytes),
                           (CUdeviceptr to, const void* from, size_t bytes, CUstream stream),
                           (to, from, bytes, stream))
AOTI_DBG_FETCH(cuMemcpyDtoHAsync_v2, flush_if_pending_of(legacy_default(stream)), legacy_default(stream),
               of_copy(legacy_default(stream), to),
               (void* to, CUdeviceptr from, size_t bytes, CUstream stream), (to, from, bytes, stream))
AOTI_DBG_FETCH(cuMemcpyDtoHAsync_v2_ptsz, flush_if_pending_of(per_thread_default(stream)),
               per_thread_default(stream), of_copy(per_thread_default(stream), to),
               (void* to, CUdeviceptr from, size_t bytes, CUstream stream), (to, from, bytes, stream))
AOTI_DBG_FLUSH_TOUCH_TWINS(cuMemcpyDtoDAsync_v2, cuMemcpyDtoDAsync_v2_ptsz, copied(to, from, bytes),
                           (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),
                           (to, from, bytes, stream))
AOTI_DBG_FLUSH_TOUCH_TWINS(cuMemcpyPeerAsync, cuMemcpyPeerAsync_ptsz, copied(to, from, bytes),
                           (CUdeviceptr to, CUcontext there, CUdeviceptr from, CUcontext here, size_t bytes,
                            CUstream stream),
                           (to, there, from, here, bytes, stream))
#define AOTI_DBG_COPY_ROWS(name, flavour, Copy)                                             \
    AOTI_DBG_FLUSH_HOOK(name, flush_if_pending_of(flavour(stream));                         \
                        note_copied(#name, flavour(stream), copied(copy), target_of(copy)), \
                        (const Copy* copy, CUstream stream), (copy, stream))
AOTI_DBG_COPY_ROWS(cuMemcpy2DAsync_v2, legacy_default, CUDA_MEMCPY2D)
AOTI_DBG_COPY_ROWS(cuMemcpy2DAsync_v2_ptsz, per_thread_default, CUDA_MEMCPY2D)
AOTI_DBG_COPY_ROWS(cuMemcpy3DAsync_v2, legacy_default, CUDA_MEMCPY3D)
AOTI_DBG_COPY_ROWS(cuMemcpy3DAsync_v2_ptsz, per_thread_default, CUDA_MEMCPY3D)
#define AOTI_DBG_COPY_ROWS_OF_PEERS(name, flavour)                    \
    AOTI_DBG_FLUSH_HOOK(name, flush_for_work_on(flavour(stream));     \
                        count_touched(flavour(stream), copied(copy)), \
                        (const CUDA_MEMCPY3D_PEER* copy, CUstream stream), (copy, stream))
AOTI_DBG_COPY_ROWS_OF_PEERS(cuMemcpy3DPeerAsync, legacy_default)
AOTI_DBG_COPY_ROWS_OF_PEERS(cuMemcpy3DPeerAsync_ptsz, per_thread_default)
#define AOTI_DBG_COPY_BATCH(name, flavour, parameters, arguments)     \
    AOTI_DBG_FLUSH_HOOK(name, flush_for_callback_of(flavour(stream)); \
                        count_copies(flavour(stream), to, from, bytes, count), parameters, arguments)
#define AOTI_DBG_COPY_BATCH_TWINS(name, twin, parameters, arguments) \
    AOTI_DBG_COPY_BATCH(name, legacy_default, parameters, arguments) \
    AOTI_DBG_COPY_BATCH(twin, per_thread_default, parameters, arguments)
AOTI_DBG_COPY_BATCH_TWINS(cuMemcpyBatchAsync, cuMemcpyBatchAsync_ptsz,
                          (CUdeviceptr * to, CUdeviceptr* from, size_t* bytes, size_t count,
                           CUmemcpyAttributes* attributes, size_t* indices, size_t attribute_count,
                           size_t* failed, CUstream stream),
                          (to, from, bytes, count, attributes, indices, attribute_count, failed, stream))
AOTI_DBG_COPY_BATCH_TWINS(cuMemcpyBatchAsync_v2, cuMemcpyBatchAsync_v2_ptsz,
                          (CUdeviceptr * to, CUdeviceptr* from, size_t* bytes, size_t count,
                           CUmemcpyAttributes* attributes, size_t* indices, size_t attribute_count,
                           CUstream stream),
                          (to, from, bytes, count, attributes, indices, attribute_count, stream))
AOTI_DBG_FLUSH_STREAM_BY(flush_for_callback_of, cuMemcpy3DBatchAsync, cuMemcpy3DBatchAsync_ptsz,
                         (size_t count, CUDA_MEMCPY3D_BATCH_OP* list, size_t* failed,
                          unsigned long long flags, CUstream stream),
                         (count, list, failed, flags, stream))
AOTI_DBG_FLUSH_STREAM_BY(flush_for_callback_of, cuMemcpy3DBatchAsync_v2, cuMemcpy3DBatchAsync_v2_ptsz,
                         (size_t count, CUDA_MEMCPY3D_BATCH_OP* list, unsigned long long flags,
                          CUstream stream),
                         (count, list, flags, stream))

// ---- sets ----

// For a rectangle, only the first row counts, because the gaps between rows are not accessed.
#define AOTI_DBG_FLUSH_FILL(name, flush, stream, row, rows, pitch, parameters, arguments)             \
    AOTI_DBG_FLUSH_TOUCH(name, flush; count_fill(row, rows, pitch, stream), stream, written(to, row), \
                                      parameters, arguments)

#define AOTI_DBG_FLUSH_SET(name, stream, Unit)                                        \
    AOTI_DBG_FLUSH_FILL(name, flush_if_pending(), stream, count * sizeof(Unit), 1, 0, \
                        (CUdeviceptr to, Unit value, size_t count), (to, value, count))
#define AOTI_DBG_FLUSH_SET_2D(name, stream, Unit)                                                \
    AOTI_DBG_FLUSH_FILL(name, flush_if_pending(), stream, width * sizeof(Unit), height, pitch,   \
                        (CUdeviceptr to, size_t pitch, Unit value, size_t width, size_t height), \
                        (to, pitch, value, width, height))
#define AOTI_DBG_FLUSH_SET_ASYNC(name, flavour, Unit)                                                      \
    AOTI_DBG_FLUSH_FILL(name, flush_if_pending_of(flavour(stream)), flavour(stream), count * sizeof(Unit), \
                        1, 0, (CUdeviceptr to, Unit value, size_t count, CUstream stream),                 \
                        (to, value, count, stream))
#define AOTI_DBG_FLUSH_SET_2D_ASYNC(name, flavour, Unit)                                                  \
    AOTI_DBG_FLUSH_FILL(                                                                                  \
        name, flush_if_pending_of(flavour(stream)), flavour(stream), width * sizeof(Unit), height, pitch, \
        (CUdeviceptr to, size_t pitch, Unit value, size_t width, size_t height, CUstream stream),         \
        (to, pitch, value, width, height, stream))
#define AOTI_DBG_FLUSH_SETS(bits, Unit)                                                   \
    AOTI_DBG_FLUSH_SET(cuMemsetD##bits##_v2, legacy_default(nullptr), Unit)               \
    AOTI_DBG_FLUSH_SET(cuMemsetD##bits##_v2_ptds, per_thread_default(nullptr), Unit)      \
    AOTI_DBG_FLUSH_SET_2D(cuMemsetD2D##bits##_v2, legacy_default(nullptr), Unit)          \
    AOTI_DBG_FLUSH_SET_2D(cuMemsetD2D##bits##_v2_ptds, per_thread_default(nullptr), Unit) \
    AOTI_DBG_FLUSH_SET_ASYNC(cuMemsetD##bits##Async, legacy_default, Unit)                \
    AOTI_DBG_FLUSH_SET_ASYNC(cuMemsetD##bits##Async_ptsz, per_thread_default, Unit)       \
    AOTI_DBG_FLUSH_SET_2D_ASYNC(cuMemsetD2D##bits##Async, legacy_default, Unit)           \
    AOTI_DBG_FLUSH_SET_2D_ASYNC(cuMemsetD2D##bits##Async_ptsz, per_thread_default, Unit)

AOTI_DBG_FLUSH_SETS(8, unsigned char)
AOTI_DBG_FLUSH_SETS(16, unsigned short)
AOTI_DBG_FLUSH_SETS(32, unsigned int)

// ---- host waits and queries ----

AOTI_DBG_FLUSH_WAIT(cuCtxSynchronize, flush_if_pending(), of_all(), (), ())
AOTI_DBG_FLUSH_WAIT(cuCtxSynchronize_v2, flush_if_pending(), of_all(context), (CUcontext context), (context))
AOTI_DBG_WAIT(cuEventSynchronize, of_event(event), (CUevent event), (event))
AOTI_DBG_FLUSH_WAIT(cuStreamSynchronize, flush_if_pending_of(legacy_default(stream)),
                    of_stream(legacy_default(stream)), (CUstream stream), (stream))
AOTI_DBG_FLUSH_WAIT(cuStreamSynchronize_ptsz, flush_if_pending_of(per_thread_default(stream)),
                    of_stream(per_thread_default(stream)), (CUstream stream), (stream))
#define AOTI_DBG_ASK_STREAM(name, flavour)                                                       \
    AOTI_DBG_ASKING_HOOK_AFTER(send_if_pending_of(flavour(stream)), of_stream(flavour(stream)),  \
                               aoti_dbg::wait_through_fault([&] { return real(stream); }), name, \
                               (CUstream stream))
AOTI_DBG_ASK_STREAM(cuStreamQuery, legacy_default)
AOTI_DBG_ASK_STREAM(cuStreamQuery_ptsz, per_thread_default)
// Programs query events often while they allocate memory, so this hook does nothing else.
AOTI_DBG_ASKING_HOOK_AFTER(, of_event(event), aoti_dbg::unless_aborting(real(event)), cuEventQuery,
                           (CUevent event))
AOTI_DBG_FLUSH_STREAM_BY(flush_for_callback_of, cuLaunchHostFunc, cuLaunchHostFunc_ptsz,
                         (CUstream stream, CUhostFn function, void* data), (stream, function, data))
AOTI_DBG_FLUSH_STREAM_BY(flush_for_callback_of, cuStreamAddCallback, cuStreamAddCallback_ptsz,
                         (CUstream stream, CUstreamCallback callback, void* data, unsigned int flags),
                         (stream, callback, data, flags))

// ---- streams: waits, captures, and destruction ----

AOTI_DBG_RECORD_EVENT(cuEventRecord, legacy_default, (CUevent event, CUstream stream), (event, stream))
AOTI_DBG_RECORD_EVENT(cuEventRecord_ptsz, per_thread_default, (CUevent event, CUstream stream),
                      (event, stream))
AOTI_DBG_RECORD_EVENT(cuEventRecordWithFlags, legacy_default,
                      (CUevent event, CUstream stream, unsigned int flags), (event, stream, flags))
AOTI_DBG_RECORD_EVENT(cuEventRecordWithFlags_ptsz, per_thread_default,
                      (CUevent event, CUstream stream, unsigned int flags), (event, stream, flags))
AOTI_DBG_FLUSH_HOOK(cuStreamWaitEvent, flush_for_wait_of(legacy_default(stream), event),
                    (CUstream stream, CUevent event, unsigned int flags), (stream, event, flags))
AOTI_DBG_FLUSH_HOOK(cuStreamWaitEvent_ptsz, flush_for_wait_of(per_thread_default(stream), event),
                    (CUstream stream, CUevent event, unsigned int flags), (stream, event, flags))
AOTI_DBG_FLUSH_STREAM_BY(flush_for_callback_of, cuStreamWriteValue32_v2, cuStreamWriteValue32_v2_ptsz,
                         (CUstream stream, CUdeviceptr to, cuuint32_t value, unsigned int flags),
                         (stream, to, value, flags))
AOTI_DBG_FLUSH_STREAM_BY(flush_for_callback_of, cuStreamWriteValue64_v2, cuStreamWriteValue64_v2_ptsz,
                         (CUstream stream, CUdeviceptr to, cuuint64_t value, unsigned int flags),
                         (stream, to, value, flags))
AOTI_DBG_FLUSH_STREAM_BY(flush_for_wait_of, cuStreamWaitValue32_v2, cuStreamWaitValue32_v2_ptsz,
                         (CUstream stream, CUdeviceptr at, cuuint32_t value, unsigned int flags),
                         (stream, at, value, flags))
AOTI_DBG_FLUSH_STREAM_BY(flush_for_wait_of, cuStreamWaitValue64_v2, cuStreamWaitValue64_v2_ptsz,
                         (CUstream stream, CUdeviceptr at, cuuint64_t value, unsigned int flags),
                         (stream, at, value, flags))
AOTI_DBG_FLUSH_STREAM_BY(flush_for_values_of, cuStreamBatchMemOp_v2, cuStreamBatchMemOp_v2_ptsz,
                         (CUstream stream, unsigned int count, CUstreamBatchMemOpParams* list,
                          unsigned int flags),
                         (stream, count, list, flags))
AOTI_DBG_FLUSH_STREAM(cuStreamBeginCapture, cuStreamBeginCapture_ptsz, (CUstream stream), (stream))
AOTI_DBG_FLUSH_STREAM(cuStreamBeginCapture_v2, cuStreamBeginCapture_v2_ptsz,
                      (CUstream stream, CUstreamCaptureMode mode), (stream, mode))
AOTI_DBG_FLUSH_STREAM(cuStreamBeginCaptureToGraph, cuStreamBeginCaptureToGraph_ptsz,
                      (CUstream stream, CUgraph graph, const CUgraphNode* dependencies,
                       const CUgraphEdgeData* edges, size_t count, CUstreamCaptureMode mode),
                      (stream, graph, dependencies, edges, count, mode))
#define AOTI_DBG_STREAM_GOES(name)                \
    AOTI_DBG_FLUSH_HOOK(name, flush_if_pending(); \
                        order(races::note_destroyed, stream), (CUstream stream), (stream))
AOTI_DBG_STREAM_GOES(cuStreamDestroy)
AOTI_DBG_STREAM_GOES(cuStreamDestroy_v2)
