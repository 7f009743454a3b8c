// The hooks of calls that let the host wait for the device, ask about it, or be called back.
#include "shim/hooks/forward.hpp"  // first, because it configures cuda.h

using namespace aoti_dbg;

namespace {

DriverEvent synchronizes(const Awaited& awaited) {
    return {.kind = DriverKind::synchronize, .awaited = awaited};
}

DriverEvent synchronizes(CUstream stream) {
    return synchronizes(of_stream(stream)).on(stream);
}

DriverEvent queries(CUstream stream) {
    return {.kind = DriverKind::query, .stream = stream, .awaited = of_stream(stream)};
}

DriverEvent calls_back(CUstream stream) {
    return {.kind = DriverKind::signal, .stream = stream};
}

}  // namespace

AOTI_DBG_EXPORT CUresult cuCtxSynchronize() {
    return forward<cuCtxSynchronize, ThroughFault>(
        [] { return synchronizes(of_all()).among_all_on(nullptr); });
}

AOTI_DBG_EXPORT CUresult cuCtxSynchronize_v2(CUcontext context) {
    return forward<cuCtxSynchronize_v2, ThroughFault>(
        [=] { return synchronizes(of_all(context)).among_all_on(nullptr); }, context);
}

AOTI_DBG_EXPORT CUresult cuEventSynchronize(CUevent event) {
    return forward<cuEventSynchronize, ThroughFault>(
        [=] { return DriverEvent{.kind = DriverKind::synchronize_event, .awaited = of_event(event)}; },
        event);
}

AOTI_DBG_EXPORT CUresult cuStreamSynchronize(CUstream stream) {
    return forward<cuStreamSynchronize, ThroughFault>([=] { return synchronizes(legacy(stream)); }, stream);
}

AOTI_DBG_EXPORT CUresult cuStreamSynchronize_ptsz(CUstream stream) {
    return forward<cuStreamSynchronize_ptsz, ThroughFault>([=] { return synchronizes(per_thread(stream)); },
                                                           stream);
}

AOTI_DBG_EXPORT CUresult cuStreamQuery(CUstream stream) {
    return forward<cuStreamQuery, ThroughFault>([=] { return queries(legacy(stream)); }, stream);
}

AOTI_DBG_EXPORT CUresult cuStreamQuery_ptsz(CUstream stream) {
    return forward<cuStreamQuery_ptsz, ThroughFault>([=] { return queries(per_thread(stream)); }, stream);
}

AOTI_DBG_EXPORT CUresult cuEventQuery(CUevent event) {
    return forward<cuEventQuery, UnlessAborting>(
        [=] { return DriverEvent{.kind = DriverKind::query_event, .awaited = of_event(event)}; }, event);
}

AOTI_DBG_EXPORT CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data) {
    return forward<cuLaunchHostFunc>([=] { return calls_back(legacy(stream)); }, stream, function, data);
}

AOTI_DBG_EXPORT CUresult cuLaunchHostFunc_ptsz(CUstream stream, CUhostFn function, void* data) {
    return forward<cuLaunchHostFunc_ptsz>([=] { return calls_back(per_thread(stream)); }, stream, function,
                                          data);
}

AOTI_DBG_EXPORT CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback callback, void* data,
                                             unsigned int flags) {
    return forward<cuStreamAddCallback>([=] { return calls_back(legacy(stream)); }, stream, callback, data,
                                        flags);
}

AOTI_DBG_EXPORT CUresult cuStreamAddCallback_ptsz(CUstream stream, CUstreamCallback callback, void* data,
                                                  unsigned int flags) {
    return forward<cuStreamAddCallback_ptsz>([=] { return calls_back(per_thread(stream)); }, stream, callback,
                                             data, flags);
}
