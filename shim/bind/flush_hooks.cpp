// The hooks of what comes between two launches: copies, sets, frees, and whatever makes a stream's progress
// known. Each lets the measurements go out that must come before it, then jumps on with the very arguments.
// Where nothing waits to be measured nothing is done. Recorded are calls that wait (waits), and what becomes
// of memory (allocations), where somebody asks for it.
//
// Besides what changes memory these are the ways by which others learn how far a stream is (an event, a
// callback, a query that says "done") and by which a stream waits for others: measured any later, a tensor
// could already have been written to from elsewhere. An event and a query let go out what waits, too, but
// leave the stream where it was; who waits for an event waits for what went out when it was recorded. Copies
// that only fill arrays or host memory from arrays are left out.
#include "shim/bind/hook_support.hpp"
#include "shim/measure/pending.hpp"
#include "shim/observe/allocations.hpp"
#include "shim/observe/fault_window.hpp"
#include "shim/observe/launch_count.hpp"
#include "shim/observe/process.hpp"
#include "shim/observe/waits.hpp"

// Of newer toolkits.
#if CUDA_VERSION < 12080
struct CUmemcpyAttributes;
struct CUDA_MEMCPY3D_BATCH_OP;
#endif

using aoti_dbg::count_copy_on_device;
using aoti_dbg::count_fill;
using aoti_dbg::flush_if_pending;
using aoti_dbg::flush_if_pending_of;
using aoti_dbg::kNoDriver;
using aoti_dbg::LeavingMemory;
using aoti_dbg::legacy_default;
using aoti_dbg::of_all;
using aoti_dbg::of_event;
using aoti_dbg::of_stream;
using aoti_dbg::per_thread_default;
using aoti_dbg::send_if_pending_of;
using aoti_dbg::allocations::Way;

#define AOTI_DBG_HOOK_AFTER(first, name, parameters, arguments) \
    AOTI_DBG_EXPORT CUresult name parameters {                  \
        first;                                                  \
        auto* real = AOTI_DBG_REAL(name);                       \
        return real == nullptr ? kNoDriver : real arguments;    \
    }

/// The same for what may come back only when the device is done with what is `awaited`.
#define AOTI_DBG_BLOCKING_HOOK_AFTER(first, awaited, call, name, parameters) \
    AOTI_DBG_EXPORT CUresult name parameters {                               \
        first;                                                               \
        auto* real = AOTI_DBG_REAL(name);                                    \
        if (real == nullptr) return kNoDriver;                               \
        static constinit aoti_dbg::WaitName wait_name{#name};                \
        aoti_dbg::Wait wait(wait_name, awaited);                             \
        return wait.end(call);                                               \
    }

/// And for what tells the host that the device is done: not while a fault is under way.
#define AOTI_DBG_WAITING_HOOK_AFTER(first, awaited, name, parameters, arguments) \
    AOTI_DBG_BLOCKING_HOOK_AFTER(                                                \
        first, awaited, aoti_dbg::wait_through_fault([&] { return real arguments; }), name, parameters)

/// It asks how far the device is.
#define AOTI_DBG_ASKING_HOOK_AFTER(first, asked, call, name, parameters) \
    AOTI_DBG_EXPORT CUresult name parameters {                           \
        first;                                                           \
        auto* real = AOTI_DBG_REAL(name);                                \
        if (real == nullptr) return kNoDriver;                           \
        static constinit aoti_dbg::WaitName wait_name{#name};            \
        return aoti_dbg::answered(wait_name, asked, call);               \
    }

#define AOTI_DBG_FLUSH_HOOK(name, flush, parameters, arguments)                                           \
    AOTI_DBG_HOOK_AFTER(flush; if (aoti_dbg::g_measuring) aoti_dbg::note_unseen_work(), name, parameters, \
                               arguments)

/// It concerns all streams.
#define AOTI_DBG_FLUSH(name, parameters, arguments) \
    AOTI_DBG_FLUSH_HOOK(name, flush_if_pending(), parameters, arguments)

/// The same, with its twin for the per-thread default stream.
#define AOTI_DBG_FLUSH_TWINS(name, twin, parameters, arguments)          \
    AOTI_DBG_FLUSH_HOOK(name, flush_if_pending(), parameters, arguments) \
    AOTI_DBG_FLUSH_HOOK(twin, flush_if_pending(), parameters, arguments)

/// It concerns the parameter `stream`.
#define AOTI_DBG_FLUSH_STREAM(name, twin, parameters, arguments)                                  \
    AOTI_DBG_FLUSH_HOOK(name, flush_if_pending_of(legacy_default(stream)), parameters, arguments) \
    AOTI_DBG_FLUSH_HOOK(twin, flush_if_pending_of(per_thread_default(stream)), parameters, arguments)

/// The host waits for what a hook has told of before; then it may write to memory that both can see.
#define AOTI_DBG_WAIT(name, awaited, parameters, arguments)                                             \
    AOTI_DBG_WAITING_HOOK_AFTER(if (aoti_dbg::g_measuring) aoti_dbg::note_unseen_work(), awaited, name, \
                                parameters, arguments)
#define AOTI_DBG_FLUSH_WAIT(name, flush, awaited, parameters, arguments)                                 \
    AOTI_DBG_WAITING_HOOK_AFTER(flush; if (aoti_dbg::g_measuring) aoti_dbg::note_unseen_work(), awaited, \
                                       name, parameters, arguments)

/// A copy that is over when it comes back, and may wait for others. With its twin for the per-thread default
/// stream.
#define AOTI_DBG_FLUSH_BLOCKING(name, awaited, parameters, arguments)                  \
    AOTI_DBG_BLOCKING_HOOK_AFTER(flush_if_pending(); if (aoti_dbg::g_measuring)        \
                                                         aoti_dbg::note_unseen_work(), \
                                                     awaited, real arguments, name, parameters)
#define AOTI_DBG_FLUSH_BLOCKING_TWINS(name, twin, parameters, arguments)                     \
    AOTI_DBG_FLUSH_BLOCKING(name, of_stream(legacy_default(nullptr)), parameters, arguments) \
    AOTI_DBG_FLUSH_BLOCKING(twin, of_stream(per_thread_default(nullptr)), parameters, arguments)

/// It changes nothing, but the parameter `event` will tell others how far the parameter `stream` is.
#define AOTI_DBG_RECORD_EVENT(name, flavour, parameters, arguments) \
    AOTI_DBG_HOOK_AFTER(send_if_pending_of(flavour(stream));        \
                        aoti_dbg::note_event(event, flavour(stream)), name, parameters, arguments)

// ---- memory that goes ----

// It waits for the whole device.
AOTI_DBG_BLOCKING_HOOK_AFTER(flush_if_pending(); if (aoti_dbg::g_measuring) aoti_dbg::note_unseen_work();
                             LeavingMemory leaving(Way::free, address), of_all(), leaving.end(real(address)),
                             cuMemFree_v2, (CUdeviceptr address))

#define AOTI_DBG_FLUSH_FREE(name, flush, leaves, parameters, arguments) \
    AOTI_DBG_EXPORT CUresult name parameters {                          \
        flush;                                                          \
        if (aoti_dbg::g_measuring) aoti_dbg::note_unseen_work();        \
        auto* real = AOTI_DBG_REAL(name);                               \
        if (real == nullptr) return kNoDriver;                          \
        LeavingMemory leaving leaves;                                   \
        return leaving.end(real arguments);                             \
    }
#define AOTI_DBG_FREE_ASYNC(name, flavour)                              \
    AOTI_DBG_FLUSH_FREE(name, flush_if_pending_of(flavour(stream)),     \
                        (Way::free_async, address, 0, flavour(stream)), \
                        (CUdeviceptr address, CUstream stream), (address, stream))
AOTI_DBG_FREE_ASYNC(cuMemFreeAsync, legacy_default)
AOTI_DBG_FREE_ASYNC(cuMemFreeAsync_ptsz, per_thread_default)
AOTI_DBG_FLUSH_FREE(cuMemUnmap, flush_if_pending(), (Way::unmap, address, bytes),
                    (CUdeviceptr address, size_t bytes), (address, bytes))
AOTI_DBG_FLUSH_FREE(cuIpcCloseMemHandle, flush_if_pending(), (Way::close_ipc, address), (CUdeviceptr address),
                    (address))
AOTI_DBG_FLUSH(cuMemPoolDestroy, (CUmemoryPool pool), (pool))
AOTI_DBG_FLUSH(cuMemPoolTrimTo, (CUmemoryPool pool, size_t bytes), (pool, bytes))

// ---- copies ----

AOTI_DBG_FLUSH_BLOCKING_TWINS(cuMemcpy, cuMemcpy_ptds, (CUdeviceptr to, CUdeviceptr from, size_t bytes),
                              (to, from, bytes))
AOTI_DBG_FLUSH_BLOCKING_TWINS(cuMemcpyHtoD_v2, cuMemcpyHtoD_v2_ptds,
                              (CUdeviceptr to, const void* from, size_t bytes), (to, from, bytes))
AOTI_DBG_FLUSH_WAIT(cuMemcpyDtoH_v2, flush_if_pending(), of_stream(legacy_default(nullptr)),
                    (void* to, CUdeviceptr from, size_t bytes), (to, from, bytes))
AOTI_DBG_FLUSH_WAIT(cuMemcpyDtoH_v2_ptds, flush_if_pending(), of_stream(per_thread_default(nullptr)),
                    (void* to, CUdeviceptr from, size_t bytes), (to, from, bytes))
AOTI_DBG_FLUSH_HOOK(cuMemcpyDtoD_v2, flush_if_pending(); count_copy_on_device(),
                                                         (CUdeviceptr to, CUdeviceptr from, size_t bytes),
                                                         (to, from, bytes))
AOTI_DBG_FLUSH_HOOK(cuMemcpyDtoD_v2_ptds, flush_if_pending();
                    count_copy_on_device(), (CUdeviceptr to, CUdeviceptr from, size_t bytes),
                    (to, from, bytes))
AOTI_DBG_FLUSH_BLOCKING_TWINS(cuMemcpyDtoA_v2, cuMemcpyDtoA_v2_ptds,
                              (CUarray to, size_t offset, CUdeviceptr from, size_t bytes),
                              (to, offset, from, bytes))
AOTI_DBG_FLUSH_BLOCKING_TWINS(cuMemcpyAtoD_v2, cuMemcpyAtoD_v2_ptds,
                              (CUdeviceptr to, CUarray from, size_t offset, size_t bytes),
                              (to, from, offset, bytes))
AOTI_DBG_FLUSH_BLOCKING_TWINS(cuMemcpyPeer, cuMemcpyPeer_ptds,
                              (CUdeviceptr to, CUcontext there, CUdeviceptr from, CUcontext here,
                               size_t bytes),
                              (to, there, from, here, bytes))
AOTI_DBG_FLUSH_BLOCKING_TWINS(cuMemcpy2D_v2, cuMemcpy2D_v2_ptds, (const CUDA_MEMCPY2D* copy), (copy))
AOTI_DBG_FLUSH_BLOCKING_TWINS(cuMemcpy2DUnaligned_v2, cuMemcpy2DUnaligned_v2_ptds,
                              (const CUDA_MEMCPY2D* copy), (copy))
AOTI_DBG_FLUSH_BLOCKING_TWINS(cuMemcpy3D_v2, cuMemcpy3D_v2_ptds, (const CUDA_MEMCPY3D* copy), (copy))
AOTI_DBG_FLUSH_BLOCKING_TWINS(cuMemcpy3DPeer, cuMemcpy3DPeer_ptds, (const CUDA_MEMCPY3D_PEER* copy), (copy))

AOTI_DBG_FLUSH_STREAM(cuMemcpyAsync, cuMemcpyAsync_ptsz,
                      (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),
                      (to, from, bytes, stream))
AOTI_DBG_FLUSH_STREAM(cuMemcpyHtoDAsync_v2, cuMemcpyHtoDAsync_v2_ptsz,
                      (CUdeviceptr to, const void* from, size_t bytes, CUstream stream),
                      (to, from, bytes, stream))
AOTI_DBG_FLUSH_WAIT(cuMemcpyDtoHAsync_v2, flush_if_pending_of(legacy_default(stream)),
                    of_stream(legacy_default(stream)),
                    (void* to, CUdeviceptr from, size_t bytes, CUstream stream), (to, from, bytes, stream))
AOTI_DBG_FLUSH_WAIT(cuMemcpyDtoHAsync_v2_ptsz, flush_if_pending_of(per_thread_default(stream)),
                    of_stream(per_thread_default(stream)),
                    (void* to, CUdeviceptr from, size_t bytes, CUstream stream), (to, from, bytes, stream))
AOTI_DBG_FLUSH_HOOK(cuMemcpyDtoDAsync_v2, flush_if_pending_of(legacy_default(stream));
                    count_copy_on_device(), (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),
                    (to, from, bytes, stream))
AOTI_DBG_FLUSH_HOOK(cuMemcpyDtoDAsync_v2_ptsz, flush_if_pending_of(per_thread_default(stream));
                    count_copy_on_device(), (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream),
                    (to, from, bytes, stream))
AOTI_DBG_FLUSH_STREAM(cuMemcpyPeerAsync, cuMemcpyPeerAsync_ptsz,
                      (CUdeviceptr to, CUcontext there, CUdeviceptr from, CUcontext here, size_t bytes,
                       CUstream stream),
                      (to, there, from, here, bytes, stream))
AOTI_DBG_FLUSH_STREAM(cuMemcpy2DAsync_v2, cuMemcpy2DAsync_v2_ptsz,
                      (const CUDA_MEMCPY2D* copy, CUstream stream), (copy, stream))
AOTI_DBG_FLUSH_STREAM(cuMemcpy3DAsync_v2, cuMemcpy3DAsync_v2_ptsz,
                      (const CUDA_MEMCPY3D* copy, CUstream stream), (copy, stream))
AOTI_DBG_FLUSH_STREAM(cuMemcpy3DPeerAsync, cuMemcpy3DPeerAsync_ptsz,
                      (const CUDA_MEMCPY3D_PEER* copy, CUstream stream), (copy, stream))
AOTI_DBG_FLUSH_STREAM(cuMemcpyBatchAsync, cuMemcpyBatchAsync_ptsz,
                      (CUdeviceptr * to, CUdeviceptr* from, size_t* bytes, size_t count,
                       CUmemcpyAttributes* attributes, size_t* indices, size_t attribute_count,
                       size_t* failed, CUstream stream),
                      (to, from, bytes, count, attributes, indices, attribute_count, failed, stream))
AOTI_DBG_FLUSH_STREAM(cuMemcpyBatchAsync_v2, cuMemcpyBatchAsync_v2_ptsz,
                      (CUdeviceptr * to, CUdeviceptr* from, size_t* bytes, size_t count,
                       CUmemcpyAttributes* attributes, size_t* indices, size_t attribute_count,
                       CUstream stream),
                      (to, from, bytes, count, attributes, indices, attribute_count, stream))
AOTI_DBG_FLUSH_STREAM(cuMemcpy3DBatchAsync, cuMemcpy3DBatchAsync_ptsz,
                      (size_t count, CUDA_MEMCPY3D_BATCH_OP* list, size_t* failed, unsigned long long flags,
                       CUstream stream),
                      (count, list, failed, flags, stream))
AOTI_DBG_FLUSH_STREAM(cuMemcpy3DBatchAsync_v2, cuMemcpy3DBatchAsync_v2_ptsz,
                      (size_t count, CUDA_MEMCPY3D_BATCH_OP* list, unsigned long long flags, CUstream stream),
                      (count, list, flags, stream))

// ---- sets ----

#define AOTI_DBG_FLUSH_FILL(name, flush, count, Unit, parameters, arguments) \
    AOTI_DBG_FLUSH_HOOK(name, flush; count_fill((count) * sizeof(Unit)), parameters, arguments)

#define AOTI_DBG_FLUSH_SETS(bits, Unit)                                                                      \
    AOTI_DBG_FLUSH_FILL(cuMemsetD##bits##_v2, flush_if_pending(), count, Unit,                               \
                        (CUdeviceptr to, Unit value, size_t count), (to, value, count))                      \
    AOTI_DBG_FLUSH_FILL(cuMemsetD##bits##_v2_ptds, flush_if_pending(), count, Unit,                          \
                        (CUdeviceptr to, Unit value, size_t count), (to, value, count))                      \
    AOTI_DBG_FLUSH_FILL(cuMemsetD2D##bits##_v2, flush_if_pending(), width* height, Unit,                     \
                        (CUdeviceptr to, size_t pitch, Unit value, size_t width, size_t height),             \
                        (to, pitch, value, width, height))                                                   \
    AOTI_DBG_FLUSH_FILL(cuMemsetD2D##bits##_v2_ptds, flush_if_pending(), width* height, Unit,                \
                        (CUdeviceptr to, size_t pitch, Unit value, size_t width, size_t height),             \
                        (to, pitch, value, width, height))                                                   \
    AOTI_DBG_FLUSH_FILL(cuMemsetD##bits##Async, flush_if_pending_of(legacy_default(stream)), count, Unit,    \
                        (CUdeviceptr to, Unit value, size_t count, CUstream stream),                         \
                        (to, value, count, stream))                                                          \
    AOTI_DBG_FLUSH_FILL(cuMemsetD##bits##Async_ptsz, flush_if_pending_of(per_thread_default(stream)), count, \
                        Unit, (CUdeviceptr to, Unit value, size_t count, CUstream stream),                   \
                        (to, value, count, stream))                                                          \
    AOTI_DBG_FLUSH_FILL(                                                                                     \
        cuMemsetD2D##bits##Async, flush_if_pending_of(legacy_default(stream)), width* height, Unit,          \
        (CUdeviceptr to, size_t pitch, Unit value, size_t width, size_t height, CUstream stream),            \
        (to, pitch, value, width, height, stream))                                                           \
    AOTI_DBG_FLUSH_FILL(                                                                                     \
        cuMemsetD2D##bits##Async_ptsz, flush_if_pending_of(per_thread_default(stream)), width* height, Unit, \
        (CUdeviceptr to, size_t pitch, Unit value, size_t width, size_t height, CUstream stream),            \
        (to, pitch, value, width, height, stream))

AOTI_DBG_FLUSH_SETS(8, unsigned char)
AOTI_DBG_FLUSH_SETS(16, unsigned short)
AOTI_DBG_FLUSH_SETS(32, unsigned int)

// ---- what the host waits for or asks ----

AOTI_DBG_FLUSH_WAIT(cuCtxSynchronize, flush_if_pending(), of_all(), (), ())
AOTI_DBG_FLUSH_WAIT(cuCtxSynchronize_v2, flush_if_pending(), of_all(), (CUcontext context), (context))
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
// Asked often where memory is allocated: nothing else is looked at.
AOTI_DBG_ASKING_HOOK_AFTER(, of_event(event), real(event), cuEventQuery, (CUevent event))
AOTI_DBG_FLUSH_STREAM(cuLaunchHostFunc, cuLaunchHostFunc_ptsz,
                      (CUstream stream, CUhostFn function, void* data), (stream, function, data))
AOTI_DBG_FLUSH_STREAM(cuStreamAddCallback, cuStreamAddCallback_ptsz,
                      (CUstream stream, CUstreamCallback callback, void* data, unsigned int flags),
                      (stream, callback, data, flags))

// ---- streams that wait for one another, begin to capture, and go ----

AOTI_DBG_RECORD_EVENT(cuEventRecord, legacy_default, (CUevent event, CUstream stream), (event, stream))
AOTI_DBG_RECORD_EVENT(cuEventRecord_ptsz, per_thread_default, (CUevent event, CUstream stream),
                      (event, stream))
AOTI_DBG_RECORD_EVENT(cuEventRecordWithFlags, legacy_default,
                      (CUevent event, CUstream stream, unsigned int flags), (event, stream, flags))
AOTI_DBG_RECORD_EVENT(cuEventRecordWithFlags_ptsz, per_thread_default,
                      (CUevent event, CUstream stream, unsigned int flags), (event, stream, flags))
AOTI_DBG_FLUSH_STREAM(cuStreamWaitEvent, cuStreamWaitEvent_ptsz,
                      (CUstream stream, CUevent event, unsigned int flags), (stream, event, flags))
AOTI_DBG_FLUSH_STREAM(cuStreamWriteValue32_v2, cuStreamWriteValue32_v2_ptsz,
                      (CUstream stream, CUdeviceptr to, cuuint32_t value, unsigned int flags),
                      (stream, to, value, flags))
AOTI_DBG_FLUSH_STREAM(cuStreamWriteValue64_v2, cuStreamWriteValue64_v2_ptsz,
                      (CUstream stream, CUdeviceptr to, cuuint64_t value, unsigned int flags),
                      (stream, to, value, flags))
AOTI_DBG_FLUSH_STREAM(cuStreamWaitValue32_v2, cuStreamWaitValue32_v2_ptsz,
                      (CUstream stream, CUdeviceptr at, cuuint32_t value, unsigned int flags),
                      (stream, at, value, flags))
AOTI_DBG_FLUSH_STREAM(cuStreamWaitValue64_v2, cuStreamWaitValue64_v2_ptsz,
                      (CUstream stream, CUdeviceptr at, cuuint64_t value, unsigned int flags),
                      (stream, at, value, flags))
AOTI_DBG_FLUSH_STREAM(cuStreamBatchMemOp_v2, cuStreamBatchMemOp_v2_ptsz,
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
AOTI_DBG_FLUSH(cuStreamDestroy, (CUstream stream), (stream))
AOTI_DBG_FLUSH(cuStreamDestroy_v2, (CUstream stream), (stream))
