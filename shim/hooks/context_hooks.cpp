// The hooks of calls that create, retain or end contexts.
#include "shim/hooks/driver_call.hpp"  // first, because it configures cuda.h

#include <optional>

#include "shim/calls/functions.hpp"
#include "shim/calls/models.hpp"
#include "shim/calls/session.hpp"
#include "shim/faults/driver_log.hpp"
#include "shim/faults/dump_request.hpp"
#include "shim/faults/fault_watch.hpp"

using namespace aoti_dbg;

namespace {

void watch_driver() {
    watch_for_faults();
    watch_driver_log();
}

/// Forwards a call that creates or retains a context.
template <auto kHook, typename... Arguments>
CUresult forward_making(const char* label, Caller by, CUdevice device, CUcontext* context,
                        Arguments... arguments) {
    const ContextInTheMaking making;
    const CUresult result = forward_lifecycle<kHook>(label, by, context, arguments..., device);
    if (result == CUDA_SUCCESS && context != nullptr) note_context(*context, device);
    return result;
}

void end_in_session(const DriverEvent& event) {
    if (event.kind == DriverKind::destroy_context)
        end_context_in_session(static_cast<CUcontext>(event.context));
    if (event.kind == DriverKind::reset_device) end_device_in_session(event.device);
    if (event.kind == DriverKind::release_context) release_context_in_session(event.device);
}

/// Forwards a call that ends a context. The session and observers see it, and the names of its functions are
/// forgotten, before the real call. Afterwards, its handles may already belong to other objects.
template <auto kHook, typename Which>
CUresult forward_end(DriverEvent event, const char* label, Caller by, Which which) {
    event.hook = hook_of<kHook>();
    std::optional<ObservedDriverCall> observed;
    if (observing()) {
        unless_out_of_memory([&] {
            end_in_session(event);
            observed.emplace(event);
        });
        unless_out_of_memory(forget_all);
    }
    const CUresult result = forward_lifecycle<kHook>(label, by, which);
    return observed ? observed->end(result) : result;
}

DriverEvent destroys(CUcontext context) {
    return {.kind = DriverKind::destroy_context, .context = context};
}

DriverEvent resets(CUdevice device) {
    return {.kind = DriverKind::reset_device, .device = device};
}

DriverEvent releases(CUdevice device) {
    return {.kind = DriverKind::release_context, .device = device};
}

}  // namespace

AOTI_DBG_EXPORT CUresult cuInit(unsigned int flags) {
    ensure_process_ready();
    if (observing()) find_linked_models();
    const CUresult result = forward_lifecycle<cuInit>("cuInit", {AOTI_DBG_CALLER_FRAME}, flags);
    if (result == CUDA_SUCCESS && observing()) unless_out_of_memory(watch_driver);
    return result;
}

AOTI_DBG_EXPORT CUresult cuCtxCreate(CUcontext* context, unsigned int flags, CUdevice device) {
    return forward_making<cuCtxCreate>("cuCtxCreate", {AOTI_DBG_CALLER_FRAME}, device, context, flags);
}

AOTI_DBG_EXPORT CUresult cuCtxCreate_v2(CUcontext* context, unsigned int flags, CUdevice device) {
    return forward_making<cuCtxCreate_v2>("cuCtxCreate", {AOTI_DBG_CALLER_FRAME}, device, context, flags);
}

AOTI_DBG_EXPORT CUresult cuCtxCreate_v3(CUcontext* context, CUexecAffinityParam* affinity, int count,
                                        unsigned int flags, CUdevice device) {
    return forward_making<cuCtxCreate_v3>("cuCtxCreate", {AOTI_DBG_CALLER_FRAME}, device, context, affinity,
                                          count, flags);
}

AOTI_DBG_EXPORT CUresult cuCtxCreate_v4(CUcontext* context, CUctxCreateParams* parameters, unsigned int flags,
                                        CUdevice device) {
    return forward_making<cuCtxCreate_v4>("cuCtxCreate", {AOTI_DBG_CALLER_FRAME}, device, context, parameters,
                                          flags);
}

AOTI_DBG_EXPORT CUresult cuCtxDestroy(CUcontext context) {
    return forward_end<cuCtxDestroy>(destroys(context), "cuCtxDestroy", {AOTI_DBG_CALLER_FRAME}, context);
}

AOTI_DBG_EXPORT CUresult cuCtxDestroy_v2(CUcontext context) {
    return forward_end<cuCtxDestroy_v2>(destroys(context), "cuCtxDestroy", {AOTI_DBG_CALLER_FRAME}, context);
}

AOTI_DBG_EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
    return forward_making<cuDevicePrimaryCtxRetain>("cuDevicePrimaryCtxRetain", {AOTI_DBG_CALLER_FRAME},
                                                    device, context);
}

AOTI_DBG_EXPORT CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
    return forward_end<cuDevicePrimaryCtxRelease>(releases(device), "cuDevicePrimaryCtxRelease",
                                                  {AOTI_DBG_CALLER_FRAME}, device);
}

AOTI_DBG_EXPORT CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
    return forward_end<cuDevicePrimaryCtxRelease_v2>(releases(device), "cuDevicePrimaryCtxRelease",
                                                     {AOTI_DBG_CALLER_FRAME}, device);
}

AOTI_DBG_EXPORT CUresult cuDevicePrimaryCtxReset(CUdevice device) {
    return forward_end<cuDevicePrimaryCtxReset>(resets(device), "cuDevicePrimaryCtxReset",
                                                {AOTI_DBG_CALLER_FRAME}, device);
}

AOTI_DBG_EXPORT CUresult cuDevicePrimaryCtxReset_v2(CUdevice device) {
    return forward_end<cuDevicePrimaryCtxReset_v2>(resets(device), "cuDevicePrimaryCtxReset",
                                                   {AOTI_DBG_CALLER_FRAME}, device);
}
