// The exported CUDA driver hooks that record calls. Each does as little as possible and calls the real
// function with the same arguments. To add a hook, add a line in hooks.def and define it here.

#include "shim/hooks/hook_support.hpp"  // first, because it configures cuda.h

#include "base/errno_keeper.hpp"
#include "shim/calls/calls.hpp"
#include "shim/calls/functions.hpp"
#include "shim/calls/models.hpp"
#include "shim/calls/session.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/check/races.hpp"
#include "shim/faults/allocations.hpp"
#include "shim/faults/completion_markers.hpp"
#include "shim/faults/dump_request.hpp"
#include "shim/faults/fault_watch.hpp"
#include "shim/faults/fault_window.hpp"
#include "shim/faults/markers_part.hpp"
#include "shim/measure/pending.hpp"
#include "shim/runtime/driver_table.hpp"
#include "shim/runtime/launch_count.hpp"
#include "shim/runtime/names.hpp"
#include "shim/runtime/process.hpp"

#if CUDA_VERSION < 12050
struct CUctxCreateParams;
#endif

// The caller's stack pointer before the call, as in the thunk. It is two words above our frame pointer.
#define AOTI_DBG_CALLER_FRAME \
    (reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) + 2 * sizeof(void*))

namespace aoti_dbg {
namespace {

/// Records one driver call from here to end(). `function` is the launched kernel or graph.
class DriverCall {
  public:
    DriverCall(ring::CallKind kind, const void* function, const char* label, CUstream stream,
               void* const* parameters, std::uintptr_t frame, const void* caller)
        : stream_(stream), frame_(frame), is_launch_(ring::is_launch(kind)) {
        const ErrnoKeeper errno_keeper;
        try {
            begin(kind, function, label, stream, parameters, caller);
        } catch (...) {
            switch_off("out of memory while recording a launch");
        }
    }

    [[gnu::hot]] CUresult end(CUresult result) {
        if (result != CUDA_SUCCESS) take_back(launch_);
        if (!begun_ || !observing()) return result;
        const ErrnoKeeper errno_keeper;
        try {
            ThreadState* const state = thread_state();
            if (state == nullptr) return result;
            CompletionMarkers* const markers = markers_of(*state);
            const std::uint8_t flags =
                markers == nullptr ? std::uint8_t{0} : mark_launch(*markers, *state, frame_, stream_, result);
            end_call(*state, frame_, result, flags);
        } catch (...) {
            switch_off("out of memory while recording the end of a launch");
        }
        return result;
    }

  private:
    /// Returns null if the call gets no markers.
    [[nodiscard]] CompletionMarkers* markers_of(ThreadState& state) const {
        return g_marking && is_launch_ ? aoti_dbg::markers_of(*state.session) : nullptr;
    }

    static void note_order(ring::CallKind kind, CUstream stream) {
        if (kind == ring::CallKind::graph) return races::note_graph(stream);
        if (ring::is_launch(kind)) races::note_work(stream);
    }

    [[gnu::hot]] void begin(ring::CallKind kind, const void* function, const char* label, CUstream stream,
                            void* const* parameters, const void* caller) {
        ThreadState* state = thread_state();
        if (state == nullptr) return;
        if (ordering()) note_order(kind, stream);
        close_unwound_calls(*state, frame_);
        const OpenCall* top = state->top();
        // A launch inside a launch is the same launch, passed on by another interposing library.
        if (top != nullptr && (top->kind == ring::CallKind::launch || top->kind == ring::CallKind::triton))
            return;
        CallStart start;
        start.kind = kind;
        start.frame = frame_;
        start.stream = reinterpret_cast<std::uintptr_t>(stream);
        if (top == nullptr) {
            start.model = model_at(caller);
            start.by_model = start.model != ring::kNoModel;
        } else {
            // Within a run, copies and fills that PyTorch launches for the model are not the model's own
            // calls.
            start.by_model = is_model_entry(top->kind) && is_in_model(top->model, caller);
        }
        if (kind == ring::CallKind::launch) launch_ = next_launch_number(stream);
        if (kind == ring::CallKind::graph) launch_ = graph_launch_number(function, stream);
        start.launch = launch_;
        if (kind == ring::CallKind::launch && start.by_model) {
            start.kind = ring::CallKind::triton;
            start.passage.function = function;
            start.passage.parameters = parameters;
        }
        start.name = name_of(*state, kind, function, label);
        begun_ = begin_call(*state, start);
        CompletionMarkers* const markers = begun_ ? markers_of(*state) : nullptr;
        if (markers != nullptr) markers->prepare(stream);
    }

    static const Name* name_of(ThreadState& state, ring::CallKind kind, const void* function,
                               const char* label) {
        if (label == nullptr) return function_name(state, function);
        if (kind != ring::CallKind::graph) return intern_name(label, {});
        static const Name* const graph = intern_name(label, {});  // launched often, so looked up once
        return graph;
    }

    CUstream stream_;
    std::uintptr_t frame_;
    bool is_launch_;
    LaunchNumber launch_;
    bool begun_ = false;
};

/// Records a call for crash reports. It is never printed.
template <typename Function, typename... Arguments>
CUresult lifecycle(const char* label, std::uintptr_t frame, Function* real, Arguments... arguments) {
    if (real == nullptr) return kNoDriver;
    if (!observing()) return real(arguments...);
    DriverCall call(ring::CallKind::lifecycle, nullptr, label, nullptr, nullptr, frame, nullptr);
    return call.end(real(arguments...));
}

/// Handles a call that creates or retains a context.
template <typename Function, typename... Arguments>
CUresult get_context(const char* label, std::uintptr_t frame, Function* real, CUdevice device,
                     CUcontext* context, Arguments... arguments) {
    const ContextInTheMaking making;
    const CUresult result = lifecycle(label, frame, real, context, arguments..., device);
    if (result == CUDA_SUCCESS && context != nullptr) note_context(*context, device);
    return result;
}

template <typename Work>
void unless_out_of_memory(Work work) {
    const ErrnoKeeper errno_keeper;
    try {
        work();
    } catch (...) {
        switch_off("out of memory while recording the name of a function");
    }
}

/// A launch records its events somewhere inside its kernel, so their order is unknown.
void note_events_of(const CUlaunchConfig& config) {
    for (unsigned i = 0; i < config.numAttrs; ++i) {
        const CUlaunchAttribute& attribute = config.attrs[i];
        if (attribute.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT)
            races::note_unseen_event(attribute.value.programmaticEvent.event);
#if CUDA_VERSION >= 12030
        if (attribute.id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT)
            races::note_unseen_event(attribute.value.launchCompletionEvent.event);
#endif
    }
}

CUresult hand_out(CUresult result, void** function) {
    if (result == CUDA_SUCCESS && function != nullptr) *function = substitute_driver_function(*function);
    return result;
}

}  // namespace
}  // namespace aoti_dbg

using aoti_dbg::kNoDriver;
using aoti_dbg::observing;

// ---- contexts ----

AOTI_DBG_EXPORT CUresult cuInit(unsigned int flags) {
    aoti_dbg::ensure_process_ready();
    if (observing()) aoti_dbg::find_linked_models();
    const CUresult result =
        aoti_dbg::lifecycle("cuInit", AOTI_DBG_CALLER_FRAME, AOTI_DBG_REAL(cuInit), flags);
    if (result == CUDA_SUCCESS && observing()) aoti_dbg::unless_out_of_memory(aoti_dbg::watch_for_faults);
    return result;
}

AOTI_DBG_EXPORT CUresult cuCtxCreate(CUcontext* context, unsigned int flags, CUdevice device) {
    return aoti_dbg::get_context("cuCtxCreate", AOTI_DBG_CALLER_FRAME, AOTI_DBG_REAL(cuCtxCreate), device,
                                 context, flags);
}

AOTI_DBG_EXPORT CUresult cuCtxCreate_v2(CUcontext* context, unsigned int flags, CUdevice device) {
    return aoti_dbg::get_context("cuCtxCreate", AOTI_DBG_CALLER_FRAME, AOTI_DBG_REAL(cuCtxCreate_v2), device,
                                 context, flags);
}

AOTI_DBG_EXPORT CUresult cuCtxCreate_v3(CUcontext* context, CUexecAffinityParam* affinity, int count,
                                        unsigned int flags, CUdevice device) {
    return aoti_dbg::get_context("cuCtxCreate", AOTI_DBG_CALLER_FRAME, AOTI_DBG_REAL(cuCtxCreate_v3), device,
                                 context, affinity, count, flags);
}

AOTI_DBG_EXPORT CUresult cuCtxCreate_v4(CUcontext* context, CUctxCreateParams* parameters, unsigned int flags,
                                        CUdevice device) {
    return aoti_dbg::get_context("cuCtxCreate", AOTI_DBG_CALLER_FRAME, AOTI_DBG_REAL(cuCtxCreate_v4), device,
                                 context, parameters, flags);
}

namespace {

void end_order() {
    if (aoti_dbg::ordering()) aoti_dbg::races::note_context_ends();
}

void flush_before_release(CUdevice) {
    end_order();
    aoti_dbg::flush_if_pending();
    aoti_dbg::end_marked_context(nullptr);  // it may be the last reference
}

void end_context(CUcontext context) {
    end_order();
    aoti_dbg::end_context_in_session(context);
    aoti_dbg::forget_launch_counts(context);
    aoti_dbg::end_marked_context(context);
    aoti_dbg::note_context_gone(context);
}

void end_contexts_of(CUdevice device) {
    end_order();
    aoti_dbg::end_device_in_session(device);
    aoti_dbg::forget_launch_counts_of(device);
    aoti_dbg::end_marked_context(nullptr);
    aoti_dbg::note_device_gone(device);
}

}  // namespace

// Forget the context's data before the real call. Afterwards, its handles may already belong to other
// objects.
#define AOTI_DBG_CONTEXT_GOES(name, label, Type, last_chance_to_measure)                      \
    AOTI_DBG_EXPORT CUresult name(Type which) {                                               \
        if (observing()) {                                                                    \
            aoti_dbg::unless_out_of_memory([which] { last_chance_to_measure(which); });       \
            aoti_dbg::unless_out_of_memory(aoti_dbg::forget_all);                             \
        }                                                                                     \
        return aoti_dbg::lifecycle(label, AOTI_DBG_CALLER_FRAME, AOTI_DBG_REAL(name), which); \
    }

AOTI_DBG_CONTEXT_GOES(cuCtxDestroy, "cuCtxDestroy", CUcontext, end_context)
AOTI_DBG_CONTEXT_GOES(cuCtxDestroy_v2, "cuCtxDestroy", CUcontext, end_context)
AOTI_DBG_CONTEXT_GOES(cuDevicePrimaryCtxReset, "cuDevicePrimaryCtxReset", CUdevice, end_contexts_of)
AOTI_DBG_CONTEXT_GOES(cuDevicePrimaryCtxReset_v2, "cuDevicePrimaryCtxReset", CUdevice, end_contexts_of)
AOTI_DBG_CONTEXT_GOES(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease", CUdevice, flush_before_release)
AOTI_DBG_CONTEXT_GOES(cuDevicePrimaryCtxRelease_v2, "cuDevicePrimaryCtxRelease", CUdevice,
                      flush_before_release)

AOTI_DBG_EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
    return aoti_dbg::get_context("cuDevicePrimaryCtxRetain", AOTI_DBG_CALLER_FRAME,
                                 AOTI_DBG_REAL(cuDevicePrimaryCtxRetain), device, context);
}

// ---- launches ----

// Pending measurements go out right before the real launch. By then the call is recorded, and its tensors
// have joined them.

#define AOTI_DBG_LAUNCH_KERNEL(name, flavour)                                                              \
    AOTI_DBG_EXPORT __attribute__((hot)) CUresult name(                                                    \
        CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,                \
        unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared_bytes,       \
        CUstream stream, void** parameters, void** extra) {                                                \
        auto* real = AOTI_DBG_REAL(name);                                                                  \
        if (real == nullptr) return kNoDriver;                                                             \
        if (!observing()) {                                                                                \
            return real(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, \
                        parameters, extra);                                                                \
        }                                                                                                  \
        aoti_dbg::DriverCall call(aoti_dbg::ring::CallKind::launch, function, nullptr,                     \
                                  aoti_dbg::flavour(stream), parameters, AOTI_DBG_CALLER_FRAME,            \
                                  __builtin_return_address(0));                                            \
        aoti_dbg::flush_if_pending_of(aoti_dbg::flavour(stream));                                          \
        return call.end(aoti_dbg::raised(real(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, \
                                              shared_bytes, stream, parameters, extra)));                  \
    }

#define AOTI_DBG_LAUNCH_COOPERATIVE(name, flavour)                                                         \
    AOTI_DBG_EXPORT CUresult name(CUfunction function, unsigned int grid_x, unsigned int grid_y,           \
                                  unsigned int grid_z, unsigned int block_x, unsigned int block_y,         \
                                  unsigned int block_z, unsigned int shared_bytes, CUstream stream,        \
                                  void** parameters) {                                                     \
        auto* real = AOTI_DBG_REAL(name);                                                                  \
        if (real == nullptr) return kNoDriver;                                                             \
        if (!observing()) {                                                                                \
            return real(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, \
                        parameters);                                                                       \
        }                                                                                                  \
        aoti_dbg::DriverCall call(aoti_dbg::ring::CallKind::launch, function, nullptr,                     \
                                  aoti_dbg::flavour(stream), parameters, AOTI_DBG_CALLER_FRAME,            \
                                  __builtin_return_address(0));                                            \
        aoti_dbg::flush_if_pending_of(aoti_dbg::flavour(stream));                                          \
        return call.end(aoti_dbg::raised(real(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, \
                                              shared_bytes, stream, parameters)));                         \
    }

#define AOTI_DBG_LAUNCH_EX(name, flavour)                                                                \
    AOTI_DBG_EXPORT CUresult name(const CUlaunchConfig* config, CUfunction function, void** parameters,  \
                                  void** extra) {                                                        \
        auto* real = AOTI_DBG_REAL(name);                                                                \
        if (real == nullptr) return kNoDriver;                                                           \
        if (!observing() || config == nullptr) return real(config, function, parameters, extra);         \
        if (aoti_dbg::ordering()) aoti_dbg::note_events_of(*config);                                     \
        aoti_dbg::DriverCall call(aoti_dbg::ring::CallKind::launch, function, nullptr,                   \
                                  aoti_dbg::flavour(config->hStream), parameters, AOTI_DBG_CALLER_FRAME, \
                                  __builtin_return_address(0));                                          \
        aoti_dbg::flush_if_pending_of(aoti_dbg::flavour(config->hStream));                               \
        return call.end(aoti_dbg::raised(real(config, function, parameters, extra)));                    \
    }

#define AOTI_DBG_LAUNCH_GRAPH(name, flavour)                                                 \
    AOTI_DBG_EXPORT CUresult name(CUgraphExec graph, CUstream stream) {                      \
        auto* real = AOTI_DBG_REAL(name);                                                    \
        if (real == nullptr) return kNoDriver;                                               \
        if (!observing()) return real(graph, stream);                                        \
        aoti_dbg::DriverCall call(aoti_dbg::ring::CallKind::graph, graph, "CUDA graph",      \
                                  aoti_dbg::flavour(stream), nullptr, AOTI_DBG_CALLER_FRAME, \
                                  __builtin_return_address(0));                              \
        aoti_dbg::flush_if_pending_of(aoti_dbg::flavour(stream));                            \
        return call.end(aoti_dbg::raised(real(graph, stream)));                              \
    }

AOTI_DBG_LAUNCH_KERNEL(cuLaunchKernel, legacy_default)
AOTI_DBG_LAUNCH_KERNEL(cuLaunchKernel_ptsz, per_thread_default)
AOTI_DBG_LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel, legacy_default)
AOTI_DBG_LAUNCH_COOPERATIVE(cuLaunchCooperativeKernel_ptsz, per_thread_default)
AOTI_DBG_LAUNCH_EX(cuLaunchKernelEx, legacy_default)
AOTI_DBG_LAUNCH_EX(cuLaunchKernelEx_ptsz, per_thread_default)
AOTI_DBG_LAUNCH_GRAPH(cuGraphLaunch, legacy_default)
AOTI_DBG_LAUNCH_GRAPH(cuGraphLaunch_ptsz, per_thread_default)

// ---- modules, libraries, and names of functions ----

AOTI_DBG_EXPORT CUresult cuModuleLoad(CUmodule* module, const char* path) {
    auto* real = AOTI_DBG_REAL(cuModuleLoad);
    if (real == nullptr) return kNoDriver;
    const CUresult result = real(module, path);
    if (result == CUDA_SUCCESS && observing() && path != nullptr) {
        aoti_dbg::unless_out_of_memory([&] { aoti_dbg::learn_module(*module, path); });
    }
    return result;
}

AOTI_DBG_EXPORT CUresult cuModuleUnload(CUmodule module) {
    if (observing()) aoti_dbg::unless_out_of_memory([&] { aoti_dbg::forget_owner(module); });
    return aoti_dbg::lifecycle("cuModuleUnload", AOTI_DBG_CALLER_FRAME, AOTI_DBG_REAL(cuModuleUnload),
                               module);
}

AOTI_DBG_EXPORT CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
    auto* real = AOTI_DBG_REAL(cuModuleGetFunction);
    if (real == nullptr) return kNoDriver;
    const void* caller = __builtin_return_address(0);
    const CUresult result = real(function, module, name);
    if (result == CUDA_SUCCESS && observing() && name != nullptr) {
        aoti_dbg::unless_out_of_memory([&] { aoti_dbg::learn_function(*function, module, name, caller); });
    }
    return result;
}

AOTI_DBG_EXPORT CUresult cuLibraryUnload(CUlibrary library) {
    if (observing()) aoti_dbg::unless_out_of_memory([&] { aoti_dbg::forget_owner(library); });
    return aoti_dbg::lifecycle("cuLibraryUnload", AOTI_DBG_CALLER_FRAME, AOTI_DBG_REAL(cuLibraryUnload),
                               library);
}

AOTI_DBG_EXPORT CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
    auto* real = AOTI_DBG_REAL(cuLibraryGetKernel);
    if (real == nullptr) return kNoDriver;
    const void* caller = __builtin_return_address(0);
    const CUresult result = real(kernel, library, name);
    if (result == CUDA_SUCCESS && observing() && name != nullptr) {
        aoti_dbg::unless_out_of_memory([&] { aoti_dbg::learn_function(*kernel, library, name, caller); });
    }
    return result;
}

AOTI_DBG_EXPORT CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
    auto* real = AOTI_DBG_REAL(cuKernelGetFunction);
    if (real == nullptr) return kNoDriver;
    const CUresult result = real(function, kernel);
    if (result == CUDA_SUCCESS && observing()) {
        aoti_dbg::unless_out_of_memory([&] { aoti_dbg::learn_same(*function, kernel); });
    }
    return result;
}

// ---- entry points ----

AOTI_DBG_EXPORT CUresult cuGetProcAddress(const char* symbol, void** function, int version,
                                          cuuint64_t flags) {
    auto* real = AOTI_DBG_REAL(cuGetProcAddress);
    if (real == nullptr) return kNoDriver;
    aoti_dbg::ensure_process_ready();
    return aoti_dbg::hand_out(real(symbol, function, version, flags), function);
}

AOTI_DBG_EXPORT CUresult cuGetProcAddress_v2(const char* symbol, void** function, int version,
                                             cuuint64_t flags, CUdriverProcAddressQueryResult* status) {
    auto* real = AOTI_DBG_REAL(cuGetProcAddress_v2);
    if (real == nullptr) return kNoDriver;
    aoti_dbg::ensure_process_ready();
    return aoti_dbg::hand_out(real(symbol, function, version, flags, status), function);
}
