// The hooks of calls that order streams: events, values in memory, captures, and destruction.
#include "shim/hooks/forward.hpp"  // first, because it configures cuda.h

using namespace aoti_dbg;

namespace {

DriverEvent records(CUevent event, CUstream stream) {
    return {.kind = DriverKind::record_event, .stream = stream, .event = event};
}

DriverEvent waits_for(CUevent event, CUstream stream) {
    return {.kind = DriverKind::gate_by_event, .stream = stream, .event = event};
}

DriverEvent queues(DriverKind kind, CUstream stream) {
    return {.kind = kind, .stream = stream};
}

DriverEvent destroys(CUstream stream) {
    return queues(DriverKind::destroy_stream, nullptr).among_all_on(stream);
}

}  // namespace

AOTI_DBG_EXPORT CUresult cuEventRecord(CUevent event, CUstream stream) {
    return forward<cuEventRecord>([=] { return records(event, legacy(stream)); }, event, stream);
}

AOTI_DBG_EXPORT CUresult cuEventRecord_ptsz(CUevent event, CUstream stream) {
    return forward<cuEventRecord_ptsz>([=] { return records(event, per_thread(stream)); }, event, stream);
}

AOTI_DBG_EXPORT CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned int flags) {
    return forward<cuEventRecordWithFlags>([=] { return records(event, legacy(stream)); }, event, stream,
                                           flags);
}

AOTI_DBG_EXPORT CUresult cuEventRecordWithFlags_ptsz(CUevent event, CUstream stream, unsigned int flags) {
    return forward<cuEventRecordWithFlags_ptsz>([=] { return records(event, per_thread(stream)); }, event,
                                                stream, flags);
}

AOTI_DBG_EXPORT CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags) {
    return forward<cuStreamWaitEvent>([=] { return waits_for(event, legacy(stream)); }, stream, event, flags);
}

AOTI_DBG_EXPORT CUresult cuStreamWaitEvent_ptsz(CUstream stream, CUevent event, unsigned int flags) {
    return forward<cuStreamWaitEvent_ptsz>([=] { return waits_for(event, per_thread(stream)); }, stream,
                                           event, flags);
}

AOTI_DBG_EXPORT CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr to, cuuint32_t value,
                                                 unsigned int flags) {
    return forward<cuStreamWriteValue32_v2>([=] { return queues(DriverKind::signal, legacy(stream)); },
                                            stream, to, value, flags);
}

AOTI_DBG_EXPORT CUresult cuStreamWriteValue32_v2_ptsz(CUstream stream, CUdeviceptr to, cuuint32_t value,
                                                      unsigned int flags) {
    return forward<cuStreamWriteValue32_v2_ptsz>(
        [=] { return queues(DriverKind::signal, per_thread(stream)); }, stream, to, value, flags);
}

AOTI_DBG_EXPORT CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr to, cuuint64_t value,
                                                 unsigned int flags) {
    return forward<cuStreamWriteValue64_v2>([=] { return queues(DriverKind::signal, legacy(stream)); },
                                            stream, to, value, flags);
}

AOTI_DBG_EXPORT CUresult cuStreamWriteValue64_v2_ptsz(CUstream stream, CUdeviceptr to, cuuint64_t value,
                                                      unsigned int flags) {
    return forward<cuStreamWriteValue64_v2_ptsz>(
        [=] { return queues(DriverKind::signal, per_thread(stream)); }, stream, to, value, flags);
}

AOTI_DBG_EXPORT CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr at, cuuint32_t value,
                                                unsigned int flags) {
    return forward<cuStreamWaitValue32_v2>([=] { return queues(DriverKind::gate, legacy(stream)); }, stream,
                                           at, value, flags);
}

AOTI_DBG_EXPORT CUresult cuStreamWaitValue32_v2_ptsz(CUstream stream, CUdeviceptr at, cuuint32_t value,
                                                     unsigned int flags) {
    return forward<cuStreamWaitValue32_v2_ptsz>([=] { return queues(DriverKind::gate, per_thread(stream)); },
                                                stream, at, value, flags);
}

AOTI_DBG_EXPORT CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr at, cuuint64_t value,
                                                unsigned int flags) {
    return forward<cuStreamWaitValue64_v2>([=] { return queues(DriverKind::gate, legacy(stream)); }, stream,
                                           at, value, flags);
}

AOTI_DBG_EXPORT CUresult cuStreamWaitValue64_v2_ptsz(CUstream stream, CUdeviceptr at, cuuint64_t value,
                                                     unsigned int flags) {
    return forward<cuStreamWaitValue64_v2_ptsz>([=] { return queues(DriverKind::gate, per_thread(stream)); },
                                                stream, at, value, flags);
}

AOTI_DBG_EXPORT CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned int count,
                                               CUstreamBatchMemOpParams* list, unsigned int flags) {
    return forward<cuStreamBatchMemOp_v2>([=] { return queues(DriverKind::gate_and_signal, legacy(stream)); },
                                          stream, count, list, flags);
}

AOTI_DBG_EXPORT CUresult cuStreamBatchMemOp_v2_ptsz(CUstream stream, unsigned int count,
                                                    CUstreamBatchMemOpParams* list, unsigned int flags) {
    return forward<cuStreamBatchMemOp_v2_ptsz>(
        [=] { return queues(DriverKind::gate_and_signal, per_thread(stream)); }, stream, count, list, flags);
}

AOTI_DBG_EXPORT CUresult cuStreamBeginCapture(CUstream stream) {
    return forward<cuStreamBeginCapture>([=] { return queues(DriverKind::work, legacy(stream)); }, stream);
}

AOTI_DBG_EXPORT CUresult cuStreamBeginCapture_ptsz(CUstream stream) {
    return forward<cuStreamBeginCapture_ptsz>([=] { return queues(DriverKind::work, per_thread(stream)); },
                                              stream);
}

AOTI_DBG_EXPORT CUresult cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode) {
    return forward<cuStreamBeginCapture_v2>([=] { return queues(DriverKind::work, legacy(stream)); }, stream,
                                            mode);
}

AOTI_DBG_EXPORT CUresult cuStreamBeginCapture_v2_ptsz(CUstream stream, CUstreamCaptureMode mode) {
    return forward<cuStreamBeginCapture_v2_ptsz>([=] { return queues(DriverKind::work, per_thread(stream)); },
                                                 stream, mode);
}

AOTI_DBG_EXPORT CUresult cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph,
                                                     const CUgraphNode* dependencies,
                                                     const CUgraphEdgeData* edges, size_t count,
                                                     CUstreamCaptureMode mode) {
    return forward<cuStreamBeginCaptureToGraph>([=] { return queues(DriverKind::work, legacy(stream)); },
                                                stream, graph, dependencies, edges, count, mode);
}

AOTI_DBG_EXPORT CUresult cuStreamBeginCaptureToGraph_ptsz(CUstream stream, CUgraph graph,
                                                          const CUgraphNode* dependencies,
                                                          const CUgraphEdgeData* edges, size_t count,
                                                          CUstreamCaptureMode mode) {
    return forward<cuStreamBeginCaptureToGraph_ptsz>(
        [=] { return queues(DriverKind::work, per_thread(stream)); }, stream, graph, dependencies, edges,
        count, mode);
}

AOTI_DBG_EXPORT CUresult cuStreamDestroy(CUstream stream) {
    return forward<cuStreamDestroy>([=] { return destroys(stream); }, stream);
}

AOTI_DBG_EXPORT CUresult cuStreamDestroy_v2(CUstream stream) {
    return forward<cuStreamDestroy_v2>([=] { return destroys(stream); }, stream);
}
