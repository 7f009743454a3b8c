// The hooks of calls that launch kernels and graphs. A launch is recorded first. Observers see it after that,
// right before the real launch.
#include "shim/hooks/driver_call.hpp"  // first, because it configures cuda.h

using namespace aoti_dbg;

namespace {

struct Launch {
    const void* function = nullptr;  // kernel or graph
    CUstream stream = nullptr;
    void* const* parameters = nullptr;
    const CUlaunchConfig* config = nullptr;
    bool is_graph = false;
    bool is_refused = false;  // the driver will refuse it, so it is not recorded
};

Launch launch_by(const CUlaunchConfig* config, CUstream (*default_stream)(CUstream), CUfunction function,
                 void* const* parameters) {
    if (config == nullptr) return {.is_refused = true};
    return {function, default_stream(config->hStream), parameters, config};
}

Launch launch_of(CUgraphExec graph, CUstream stream) {
    return {.function = graph, .stream = stream, .is_graph = true};
}

/// Calls the real function of a hook with the same arguments, as a recorded launch.
template <auto kHook, typename Describe, typename... Arguments>
[[gnu::always_inline]] inline CUresult forward_launch(Describe describe, Caller by, Arguments... arguments) {
    static_assert(std::is_same_v<decltype(kHook), CUresult (*)(Arguments...)>, "pass the hook's parameters");
    auto* const real = real_function<kHook>();
    if (real == nullptr) return kNoDriver;
    if (!observing()) return real(arguments...);
    const Launch launch = describe();
    if (launch.is_refused) return real(arguments...);
    DriverCall call(launch.is_graph ? ring::CallKind::graph : ring::CallKind::launch, launch.function,
                    launch.is_graph ? "CUDA graph" : nullptr, launch.stream, launch.parameters, by);
    if (!is_driver_observed()) [[likely]]
        return call.end(raised(real(arguments...)));
    const DriverEvent event{.kind = launch.is_graph ? DriverKind::launch_graph : DriverKind::launch,
                            .hook = hook_of<kHook>(),
                            .stream = launch.stream,
                            .launch = launch.config};
    const ObservedDriverCall observed(event);
    return call.end(observed.end(raised(real(arguments...))));
}

}  // namespace

AOTI_DBG_EXPORT __attribute__((hot)) CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x,
                                                             unsigned int grid_y, unsigned int grid_z,
                                                             unsigned int block_x, unsigned int block_y,
                                                             unsigned int block_z, unsigned int shared_bytes,
                                                             CUstream stream, void** parameters,
                                                             void** extra) {
    return forward_launch<cuLaunchKernel>(
        [=] {
            return Launch{function, legacy(stream), parameters};
        },
        {AOTI_DBG_CALLER_FRAME, __builtin_return_address(0)}, function, grid_x, grid_y, grid_z, block_x,
        block_y, block_z, shared_bytes, stream, parameters, extra);
}

AOTI_DBG_EXPORT __attribute__((hot)) CUresult cuLaunchKernel_ptsz(CUfunction function, unsigned int grid_x,
                                                                  unsigned int grid_y, unsigned int grid_z,
                                                                  unsigned int block_x, unsigned int block_y,
                                                                  unsigned int block_z,
                                                                  unsigned int shared_bytes, CUstream stream,
                                                                  void** parameters, void** extra) {
    return forward_launch<cuLaunchKernel_ptsz>(
        [=] {
            return Launch{function, per_thread(stream), parameters};
        },
        {AOTI_DBG_CALLER_FRAME, __builtin_return_address(0)}, function, grid_x, grid_y, grid_z, block_x,
        block_y, block_z, shared_bytes, stream, parameters, extra);
}

AOTI_DBG_EXPORT CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function,
                                          void** parameters, void** extra) {
    return forward_launch<cuLaunchKernelEx>([=] { return launch_by(config, legacy, function, parameters); },
                                            {AOTI_DBG_CALLER_FRAME, __builtin_return_address(0)}, config,
                                            function, parameters, extra);
}

AOTI_DBG_EXPORT CUresult cuLaunchKernelEx_ptsz(const CUlaunchConfig* config, CUfunction function,
                                               void** parameters, void** extra) {
    return forward_launch<cuLaunchKernelEx_ptsz>(
        [=] { return launch_by(config, per_thread, function, parameters); },
        {AOTI_DBG_CALLER_FRAME, __builtin_return_address(0)}, config, function, parameters, extra);
}

AOTI_DBG_EXPORT CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned int grid_x,
                                                   unsigned int grid_y, unsigned int grid_z,
                                                   unsigned int block_x, unsigned int block_y,
                                                   unsigned int block_z, unsigned int shared_bytes,
                                                   CUstream stream, void** parameters) {
    return forward_launch<cuLaunchCooperativeKernel>(
        [=] {
            return Launch{function, legacy(stream), parameters};
        },
        {AOTI_DBG_CALLER_FRAME, __builtin_return_address(0)}, function, grid_x, grid_y, grid_z, block_x,
        block_y, block_z, shared_bytes, stream, parameters);
}

AOTI_DBG_EXPORT CUresult cuLaunchCooperativeKernel_ptsz(CUfunction function, unsigned int grid_x,
                                                        unsigned int grid_y, unsigned int grid_z,
                                                        unsigned int block_x, unsigned int block_y,
                                                        unsigned int block_z, unsigned int shared_bytes,
                                                        CUstream stream, void** parameters) {
    return forward_launch<cuLaunchCooperativeKernel_ptsz>(
        [=] {
            return Launch{function, per_thread(stream), parameters};
        },
        {AOTI_DBG_CALLER_FRAME, __builtin_return_address(0)}, function, grid_x, grid_y, grid_z, block_x,
        block_y, block_z, shared_bytes, stream, parameters);
}

AOTI_DBG_EXPORT CUresult cuGraphLaunch(CUgraphExec graph, CUstream stream) {
    return forward_launch<cuGraphLaunch>([=] { return launch_of(graph, legacy(stream)); },
                                         {AOTI_DBG_CALLER_FRAME, __builtin_return_address(0)}, graph, stream);
}

AOTI_DBG_EXPORT CUresult cuGraphLaunch_ptsz(CUgraphExec graph, CUstream stream) {
    return forward_launch<cuGraphLaunch_ptsz>([=] { return launch_of(graph, per_thread(stream)); },
                                              {AOTI_DBG_CALLER_FRAME, __builtin_return_address(0)}, graph,
                                              stream);
}
