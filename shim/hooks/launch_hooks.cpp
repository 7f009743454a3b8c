// What the hooks of calls that launch kernels and graphs do when something needs the launch. It is recorded
// first. Observers see it after that, right before the real launch.
#include "shim/hooks/driver_call.hpp"  // first, because it configures cuda.h

#include <cstddef>
#include <span>
#include <type_traits>

#include "shim/calls/call_path.hpp"
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

const Name* name_of_graphs() {
    static const Name* const graph = intern_name("CUDA graph", {});  // launched often, so looked up once
    return graph;
}

/// Returns true if `address` is in the code of a model that the thread runs.
bool is_in_model(ThreadState& state, std::uint16_t model, const void* address) {
    // The number of a model means the same code as long as a run needs it.
    if (state.code.model != model) [[unlikely]]
        state.code = code_of_model(model);
    return reinterpret_cast<std::uintptr_t>(address) - state.code.low < state.code.bytes;
}

bool is_in_launch(const OpenCall* top) {
    return top != nullptr && (top->kind == ring::CallKind::launch || top->kind == ring::CallKind::triton);
}

bool is_by_model(ThreadState& state, const OpenCall* top, const void* caller, CallStart& start) {
    // Within a run, copies and fills that PyTorch launches for the model are not the model's own calls.
    if (top != nullptr) return is_model_entry(top->kind) && is_in_model(state, top->model, caller);
    start.model = model_at(caller);
    return start.model != ring::kNoModel;
}

}  // namespace

/// Begins the record in the calling thread.
[[gnu::always_inline]] inline void LaunchCall::begin(const void* caller) {
    ThreadState* const state = thread_state();
    if (state == nullptr) return;
    OpenCall* const top = close_unwound_calls(*state, start_.frame);
    // A launch inside a launch is the same launch, passed on by another interposing library.
    if (is_in_launch(top)) return;
    Passage& launch = start_.passage;
    if (launch.shape != nullptr && top != nullptr && top->passage.values != nullptr) [[unlikely]]
        capture_inside(*state, *top, launch);
    start_.by_model = is_by_model(*state, top, caller, start_);
    if (launch.is_serialized) state->counts.serialized.raise();
    if (start_.kind == ring::CallKind::launch) {
        if (g_counts_launches.load(std::memory_order_relaxed)) start_.launch = number_of_launch(stream());
        start_.name = function_name(*state, launch.function);
        if (start_.by_model) start_.kind = ring::CallKind::triton;
    } else {
        start_.launch = graph_launch_number(launch.function, stream());
        start_.name = name_of_graphs();
    }
    if (start_.kind != ring::CallKind::triton) launch = {.is_serialized = launch.is_serialized};
    begun_ = call_path::begin<call_path::By::hook>(*state, start_, top);
    if (!g_marking || !begun_) return;
    markers_ = markers_of(*state->session);
    if (markers_ != nullptr) markers_->prepare(stream());
}

[[gnu::hot]] void LaunchCall::begin_record(const void* caller) {
    const ErrnoKeeper errno_keeper;
    try {
        begin(caller);
    } catch (...) {
        switch_off("out of memory while recording a launch");
    }
}

[[gnu::hot]] void LaunchCall::end_record(CUresult result) {
    const ErrnoKeeper errno_keeper;
    try {
        ThreadState* const state = thread_state();
        // The child of a fork during the launch has a new state, and not these markers.
        if (state == nullptr || state->depth == 0) return;
        const std::uint8_t flags = markers_ == nullptr
                                       ? std::uint8_t{0}
                                       : mark_launch(*markers_, *state, start_.frame, stream(), result);
        call_path::end<call_path::By::hook>(*state, start_.frame, result, flags);
    } catch (...) {
        switch_off("out of memory while recording the end of a launch");
    }
}

LifecycleCall::LifecycleCall(const char* label, Caller by) : frame_(by.frame) {
    const ErrnoKeeper errno_keeper;
    try {
        ThreadState* const state = thread_state();
        if (state == nullptr) return;
        const OpenCall* const top = close_unwound_calls(*state, by.frame);
        if (is_in_launch(top)) return;
        CallStart start;
        start.kind = ring::CallKind::lifecycle;
        start.frame = by.frame;
        start.by_model = is_by_model(*state, top, by.address, start);
        start.name = intern_name(label, {});
        begun_ = begin_call(*state, start);
    } catch (...) {
        switch_off("out of memory while recording a driver call");
    }
}

CUresult LifecycleCall::end(CUresult result) const {
    if (!begun_ || !observing()) return result;
    const ErrnoKeeper errno_keeper;
    try {
        if (ThreadState* const state = thread_state(); state != nullptr) end_call(*state, frame_, result);
    } catch (...) {
        switch_off("out of memory while recording the end of a driver call");
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
    if (config->attrs == nullptr) return false;
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

/// Calls the real function for a launch that an observer of driver calls needs.
template <auto kHook, typename... Arguments>
[[gnu::noinline]] CUresult launch_observed(DriverKind kind, CUstream stream, const CUlaunchConfig* config,
                                           Arguments... arguments) {
    const DriverEvent event{.kind = kind, .hook = hook_of<kHook>(), .stream = stream, .launch = config};
    const ObservedDriverCall observed(event);
    return observed.end(raised(real_function<kHook>()(arguments...)));
}

/// `shape` is null unless the launch is captured.
template <auto kHook, typename... Arguments>
[[gnu::always_inline]] inline CUresult record(decltype(kHook) real, const Launch& launch,
                                              const CUlaunchConfig* shape, Caller by,
                                              Arguments... arguments) {
    LaunchCall call(launch.is_graph ? ring::CallKind::graph : ring::CallKind::launch, launch.stream,
                    {.function = launch.function,
                     .parameters = launch.parameters,
                     .shape = shape,
                     .is_cooperative = launch.is_cooperative,
                     .is_serialized = launch.config != nullptr && g_marking && may_overlap(launch.config)},
                    by.frame);
    call.begin_record(by.address);
    const DriverKind kind = launch.is_graph ? DriverKind::launch_graph : DriverKind::launch;
    if (is_kind_observed(kind) && is_driver_observed()) [[unlikely]]
        return call.end(launch_observed<kHook>(kind, launch.stream, launch.config, arguments...));
    return call.end(raised(real(arguments...)));
}

/// What a hook does if it does not just record the launch.
template <auto kHook, typename Describe, typename... Arguments>
[[gnu::noinline]] CUresult launch_otherwise(Caller by, Arguments... arguments) {
    // A hook may jump here. Then this frame is the one through which the lines of calls are found.
    asm volatile("" : : "r"(__builtin_frame_address(0)));
    auto* const real = real_function<kHook>();
    if (real == nullptr) return kNoDriver;
    if (!observing()) return real(arguments...);
    const Launch launch = Describe{}(arguments...);
    if (launch.is_refused) return real(arguments...);
    if (in_skipped_run()) return forward<kHook>([=] { return event_of<kHook>(launch); }, arguments...);
    if (!options().captures || launch.is_graph) return record<kHook>(real, launch, nullptr, by, arguments...);
    const CUlaunchConfig shape = launch.config != nullptr ? *launch.config : shape_of(arguments...);
    return record<kHook>(real, launch, &shape, by, arguments...);
}

/// Calls the real function of a hook with the same arguments, as a recorded launch. It is inlined into the
/// hook, which must have a frame pointer: the lines of calls are found through it.
template <auto kHook, typename Describe, typename... Arguments>
[[gnu::always_inline]] inline CUresult record_launch(Caller by, Arguments... arguments) {
    auto* const real =
        reinterpret_cast<decltype(kHook)>(driver_hook(hook_of<kHook>()).real.load(std::memory_order_acquire));
    if (real != nullptr && (!observing() || (in_skipped_run() && !is_every_driver_call_observed())))
        return real(arguments...);
    if (real == nullptr || !observing() || in_skipped_run() || options().captures) [[unlikely]]
        return launch_otherwise<kHook, Describe>(by, arguments...);
    const Launch launch = Describe{}(arguments...);
    if (launch.is_refused) return real(arguments...);
    return record<kHook>(real, launch, nullptr, by, arguments...);
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

#define AOTI_DBG_CALLER                                    \
    Caller {                                               \
        AOTI_DBG_CALLER_FRAME, __builtin_return_address(0) \
    }

AOTI_DBG_EXPORT __attribute__((hot)) CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x,
                                                             unsigned int grid_y, unsigned int grid_z,
                                                             unsigned int block_x, unsigned int block_y,
                                                             unsigned int block_z, unsigned int shared_bytes,
                                                             CUstream stream, void** parameters,
                                                             void** extra) {
    return record_launch<cuLaunchKernel, DescribeKernel<legacy, false>>(
        AOTI_DBG_CALLER, function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream,
        parameters, extra);
}

AOTI_DBG_EXPORT __attribute__((hot)) CUresult cuLaunchKernel_ptsz(CUfunction function, unsigned int grid_x,
                                                                  unsigned int grid_y, unsigned int grid_z,
                                                                  unsigned int block_x, unsigned int block_y,
                                                                  unsigned int block_z,
                                                                  unsigned int shared_bytes, CUstream stream,
                                                                  void** parameters, void** extra) {
    return record_launch<cuLaunchKernel_ptsz, DescribeKernel<per_thread, false>>(
        AOTI_DBG_CALLER, function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream,
        parameters, extra);
}

AOTI_DBG_EXPORT __attribute__((hot)) CUresult cuLaunchKernelEx(const CUlaunchConfig* config,
                                                               CUfunction function, void** parameters,
                                                               void** extra) {
    return record_launch<cuLaunchKernelEx, DescribeConfig<legacy>>(AOTI_DBG_CALLER, config, function,
                                                                   parameters, extra);
}

AOTI_DBG_EXPORT __attribute__((hot)) CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig* config,
                                                                    CUfunction function, void** parameters,
                                                                    void** extra) {
    return record_launch<cuLaunchKernelEx_ptsz, DescribeConfig<per_thread>>(AOTI_DBG_CALLER, config, function,
                                                                            parameters, extra);
}

AOTI_DBG_EXPORT __attribute__((hot)) CUresult cuLaunchCooperativeKernel(
    CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z, unsigned int block_x,
    unsigned int block_y, unsigned int block_z, unsigned int shared_bytes, CUstream stream,
    void** parameters) {
    return record_launch<cuLaunchCooperativeKernel, DescribeKernel<legacy, true>>(
        AOTI_DBG_CALLER, function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream,
        parameters);
}

AOTI_DBG_EXPORT __attribute__((hot)) CUresult cuLaunchCooperativeKernel_ptsz(
    CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z, unsigned int block_x,
    unsigned int block_y, unsigned int block_z, unsigned int shared_bytes, CUstream stream,
    void** parameters) {
    return record_launch<cuLaunchCooperativeKernel_ptsz, DescribeKernel<per_thread, true>>(
        AOTI_DBG_CALLER, function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes, stream,
        parameters);
}

AOTI_DBG_EXPORT __attribute__((hot)) CUresult cuGraphLaunch(CUgraphExec graph, CUstream stream) {
    return record_launch<cuGraphLaunch, DescribeGraph<legacy>>(AOTI_DBG_CALLER, graph, stream);
}

AOTI_DBG_EXPORT __attribute__((hot)) CUresult cuGraphLaunch_ptsz(CUgraphExec graph, CUstream stream) {
    return record_launch<cuGraphLaunch_ptsz, DescribeGraph<per_thread>>(AOTI_DBG_CALLER, graph, stream);
}
