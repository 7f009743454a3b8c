// The hooks of calls that launch kernels and graphs. A launch is recorded first. Observers see it after that,
// right before the real launch. The recording is in this file, so that it can be inlined into the hooks.
#include "shim/hooks/driver_call.hpp"  // first, because it configures cuda.h

#include <optional>
#include <span>

#include "shim/calls/calls.hpp"
#include "shim/calls/functions.hpp"
#include "shim/calls/models.hpp"
#include "shim/calls/session.hpp"
#include "shim/calls/skipped_runs.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/capture/capture_observer.hpp"
#include "shim/faults/completion_markers.hpp"
#include "shim/faults/markers_part.hpp"
#include "shim/runtime/names.hpp"

namespace aoti_dbg {
namespace {

const Name* name_of(ThreadState& state, ring::CallKind kind, const void* function, const char* label) {
    if (label == nullptr) return function_name(state, function);
    if (kind != ring::CallKind::graph) return intern_name(label, {});
    static const Name* const graph = intern_name(label, {});  // launched often, so looked up once
    return graph;
}

}  // namespace

/// Returns null if the call gets no markers.
CompletionMarkers* DriverCall::markers_of(ThreadState& state) const {
    return g_marking && is_launch_ ? aoti_dbg::markers_of(*state.session) : nullptr;
}

// Inline, because every launch takes this path.
[[gnu::always_inline]] inline void DriverCall::begin(ring::CallKind kind, const char* label,
                                                     const Passage& launch, const void* caller) {
    ThreadState* state = thread_state();
    if (state == nullptr) return;
    close_unwound_calls(*state, frame_);
    const OpenCall* top = state->top();
    // A launch inside a launch is the same launch, passed on by another interposing library.
    if (top != nullptr && (top->kind == ring::CallKind::launch || top->kind == ring::CallKind::triton))
        return;
    if (launch.shape != nullptr && top != nullptr && top->passage.values != nullptr)
        capture_inside(*state, *top, launch);
    CallStart start;
    start.kind = kind;
    start.frame = frame_;
    start.stream = reinterpret_cast<std::uintptr_t>(stream_);
    if (top == nullptr) {
        start.model = model_at(caller);
        start.by_model = start.model != ring::kNoModel;
    } else {
        // Within a run, copies and fills that PyTorch launches for the model are not the model's own calls.
        start.by_model = is_model_entry(top->kind) && is_in_model(top->model, caller);
    }
    if (kind == ring::CallKind::launch) launch_ = next_launch_number(stream_);
    if (kind == ring::CallKind::graph) launch_ = graph_launch_number(launch.function, stream_);
    start.launch = launch_;
    if (launch.is_serialized) state->counts.serialized.raise();
    if (kind == ring::CallKind::launch && start.by_model) {
        start.kind = ring::CallKind::triton;
        start.passage = launch;
    } else {
        start.passage.is_serialized = launch.is_serialized;
    }
    start.name = name_of(*state, kind, launch.function, label);
    begun_ = begin_call(*state, start);
    CompletionMarkers* const markers = begun_ ? markers_of(*state) : nullptr;
    if (markers != nullptr) markers->prepare(stream_);
}

[[gnu::hot]] DriverCall::DriverCall(ring::CallKind kind, const char* label, CUstream stream,
                                    const Passage& launch, Caller by)
    : stream_(stream), frame_(by.frame), is_launch_(ring::is_launch(kind)) {
    const ErrnoKeeper errno_keeper;
    try {
        begin(kind, label, launch, by.address);
    } catch (...) {
        switch_off("out of memory while recording a launch");
    }
}

[[gnu::hot]] CUresult DriverCall::end(CUresult result) {
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

}  // namespace aoti_dbg

using namespace aoti_dbg;

namespace {

struct Launch {
    const void* function = nullptr;  // kernel or graph
    CUstream stream = nullptr;
    void* const* parameters = nullptr;
    const CUlaunchConfig* config = nullptr;
    bool is_cooperative = false;
    bool is_graph = false;
    bool is_refused = false;  // the driver will refuse it, so it is not recorded
};

/// The shape of a launch whose function takes it as numbers.
template <typename... More>
CUlaunchConfig shape_of(CUfunction /*function*/, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                        More... /*more*/) {
    return {grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, nullptr, nullptr, 0};
}
/// Others have a config of their own, or none.
template <typename... Arguments>
CUlaunchConfig shape_of(Arguments... /*arguments*/) {
    return {};
}

/// Returns true if the kernel may start before its predecessor has ended (programmatic dependent launch).
bool may_overlap(const CUlaunchConfig* config) {
    if (config == nullptr || config->attrs == nullptr) return false;
    for (const CUlaunchAttribute& attribute : std::span(config->attrs, config->numAttrs))
        if (attribute.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION &&
            attribute.value.programmaticStreamSerializationAllowed != 0)
            return true;
    return false;
}

template <auto kHook>
DriverEvent event_of(const Launch& launch) {
    return {.kind = launch.is_graph ? DriverKind::launch_graph : DriverKind::launch,
            .hook = hook_of<kHook>(),
            .stream = launch.stream,
            .launch = launch.config};
}

/// The caller of the hook whose launch record_launch() records. It is not an argument, because a hook reaches
/// a function that gets its own arguments by a jump.
__thread Caller t_caller __attribute__((tls_model("initial-exec"))) = {0, nullptr};

/// Calls the real function of a hook with the same arguments, as a recorded launch. It is not inlined, so
/// that a launch that is not recorded needs no stack frame.
template <auto kHook, typename Describe, typename... Arguments>
[[gnu::noinline, gnu::hot]] CUresult record_launch(Arguments... arguments) {
    // After the hook's jump, this function must have a frame pointer: the lines of calls are found through
    // it.
    asm volatile("" : : "r"(__builtin_frame_address(0)));
    const Caller by = t_caller;
    auto* const real = real_function<kHook>();
    if (real == nullptr) return kNoDriver;
    if (!observing()) return real(arguments...);
    const Launch launch = Describe{}(arguments...);
    if (launch.is_refused) return real(arguments...);
    if (in_skipped_run()) return forward<kHook>([=] { return event_of<kHook>(launch); }, arguments...);
    Passage passage;
    passage.function = launch.function;
    passage.parameters = launch.parameters;
    passage.is_serialized = g_marking && may_overlap(launch.config);
    std::optional<CUlaunchConfig> shape;
    if (options().captures && !launch.is_graph) [[unlikely]] {
        shape = launch.config != nullptr ? *launch.config : shape_of(arguments...);
        passage.shape = &*shape;
        passage.is_cooperative = launch.is_cooperative;
    }
    DriverCall call(launch.is_graph ? ring::CallKind::graph : ring::CallKind::launch,
                    launch.is_graph ? "CUDA graph" : nullptr, launch.stream, passage, by);
    if (!is_driver_observed()) [[likely]]
        return call.end(raised(real(arguments...)));
    const DriverEvent event = event_of<kHook>(launch);
    const ObservedDriverCall observed(event);
    return call.end(observed.end(raised(real(arguments...))));
}

template <auto kHook, typename Describe, typename... Arguments>
auto recorder_of(CUresult (* /*hook*/)(Arguments...)) {
    return &record_launch<kHook, Describe, Arguments...>;
}

/// Returns what the hook calls with its own arguments: a function that records the launch, or the real one if
/// nothing needs the launch. `Describe` is a function object that turns the arguments into a Launch.
template <auto kHook, typename Describe>
[[gnu::always_inline]] inline auto* launch_by(Caller by) {
    auto* const real =
        reinterpret_cast<decltype(kHook)>(driver_hook(hook_of<kHook>()).real.load(std::memory_order_acquire));
    const bool is_needed = observing() && (!in_skipped_run() || is_every_driver_call_observed());
    if (real != nullptr && !is_needed) return real;
    t_caller = by;
    return recorder_of<kHook, Describe>(kHook);
}

/// A kernel that the hook's arguments describe.
template <CUstream (*kDefaultStream)(CUstream), bool kIsCooperative>
struct DescribeKernel {
    template <typename... Extra>
    Launch operator()(CUfunction function, unsigned /*grid_x*/, unsigned /*grid_y*/, unsigned /*grid_z*/,
                      unsigned /*block_x*/, unsigned /*block_y*/, unsigned /*block_z*/,
                      unsigned /*shared_bytes*/, CUstream stream, void** parameters,
                      Extra... /*extra*/) const {
        return {.function = function,
                .stream = kDefaultStream(stream),
                .parameters = parameters,
                .is_cooperative = kIsCooperative};
    }
};

/// A kernel that a config describes.
template <CUstream (*kDefaultStream)(CUstream)>
struct DescribeConfig {
    Launch operator()(const CUlaunchConfig* config, CUfunction function, void** parameters,
                      void** /*extra*/) const {
        if (config == nullptr) return {.is_refused = true};
        return {.function = function,
                .stream = kDefaultStream(config->hStream),
                .parameters = parameters,
                .config = config};
    }
};

template <CUstream (*kDefaultStream)(CUstream)>
struct DescribeGraph {
    Launch operator()(CUgraphExec graph, CUstream stream) const {
        return {.function = graph, .stream = kDefaultStream(stream), .is_graph = true};
    }
};

}  // namespace

AOTI_DBG_EXPORT __attribute__((hot)) CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x,
                                                             unsigned int grid_y, unsigned int grid_z,
                                                             unsigned int block_x, unsigned int block_y,
                                                             unsigned int block_z, unsigned int shared_bytes,
                                                             CUstream stream, void** parameters,
                                                             void** extra) {
    return launch_by<cuLaunchKernel, DescribeKernel<legacy, false>>(
        {AOTI_DBG_CALLER_FRAME, __builtin_return_address(0)})(
        function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, parameters, extra);
}

AOTI_DBG_EXPORT __attribute__((hot)) CUresult cuLaunchKernel_ptsz(CUfunction function, unsigned int grid_x,
                                                                  unsigned int grid_y, unsigned int grid_z,
                                                                  unsigned int block_x, unsigned int block_y,
                                                                  unsigned int block_z,
                                                                  unsigned int shared_bytes, CUstream stream,
                                                                  void** parameters, void** extra) {
    return launch_by<cuLaunchKernel_ptsz, DescribeKernel<per_thread, false>>(
        {AOTI_DBG_CALLER_FRAME, __builtin_return_address(0)})(
        function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, parameters, extra);
}

AOTI_DBG_EXPORT CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function,
                                          void** parameters, void** extra) {
    return launch_by<cuLaunchKernelEx, DescribeConfig<legacy>>(
        {AOTI_DBG_CALLER_FRAME, __builtin_return_address(0)})(config, function, parameters, extra);
}

AOTI_DBG_EXPORT CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig* config, CUfunction function,
                                               void** parameters, void** extra) {
    return launch_by<cuLaunchKernelEx_ptsz, DescribeConfig<per_thread>>(
        {AOTI_DBG_CALLER_FRAME, __builtin_return_address(0)})(config, function, parameters, extra);
}

AOTI_DBG_EXPORT CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned int grid_x,
                                                   unsigned int grid_y, unsigned int grid_z,
                                                   unsigned int block_x, unsigned int block_y,
                                                   unsigned int block_z, unsigned int shared_bytes,
                                                   CUstream stream, void** parameters) {
    return launch_by<cuLaunchCooperativeKernel, DescribeKernel<legacy, true>>(
        {AOTI_DBG_CALLER_FRAME, __builtin_return_address(0)})(
        function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, parameters);
}

AOTI_DBG_EXPORT CUresult cuLaunchCooperativeKernel_ptsz(CUfunction function, unsigned int grid_x,
                                                        unsigned int grid_y, unsigned int grid_z,
                                                        unsigned int block_x, unsigned int block_y,
                                                        unsigned int block_z, unsigned int shared_bytes,
                                                        CUstream stream, void** parameters) {
    return launch_by<cuLaunchCooperativeKernel_ptsz, DescribeKernel<per_thread, true>>(
        {AOTI_DBG_CALLER_FRAME, __builtin_return_address(0)})(
        function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream, parameters);
}

AOTI_DBG_EXPORT CUresult cuGraphLaunch(CUgraphExec graph, CUstream stream) {
    return launch_by<cuGraphLaunch, DescribeGraph<legacy>>(
        {AOTI_DBG_CALLER_FRAME, __builtin_return_address(0)})(graph, stream);
}

AOTI_DBG_EXPORT CUresult cuGraphLaunch_ptsz(CUgraphExec graph, CUstream stream) {
    return launch_by<cuGraphLaunch_ptsz, DescribeGraph<per_thread>>(
        {AOTI_DBG_CALLER_FRAME, __builtin_return_address(0)})(graph, stream);
}
