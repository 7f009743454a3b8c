// See capture_observer.hpp.
#include "shim/capture/capture_observer.hpp"

#include <cstring>
#include <span>

#include "base/message.hpp"
#include "shim/calls/session.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/capture/capture_part.hpp"
#include "shim/capture/op_capture.hpp"
#include "shim/runtime/driver_api.hpp"
#include "shim/runtime/ended_context.hpp"
#include "shim/runtime/process.hpp"
#include "shim/tensors/call_tensors.hpp"
#include "shim/tensors/measured_model.hpp"

namespace aoti_dbg {
namespace {

void take_shape(const CUlaunchConfig& config, LaunchRecord& to) {
    to.grid = {config.gridDimX, config.gridDimY, config.gridDimZ};
    to.block = {config.blockDimX, config.blockDimY, config.blockDimZ};
    to.shared_bytes = config.sharedMemBytes;
    for (const CUlaunchAttribute& attribute : std::span(config.attrs, config.numAttrs)) {
        if (attribute.id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
            to.cluster = {attribute.value.clusterDim.x, attribute.value.clusterDim.y,
                          attribute.value.clusterDim.z};
        if (attribute.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
            to.is_cooperative = attribute.value.cooperative != 0;
    }
}

void take_device(const DriverApi& api, LaunchRecord& to) {
    CUdevice device = 0;
    char name[256] = {};
    int major = 0;
    int minor = 0;
    if (api.cuCtxGetDevice(&device) != CUDA_SUCCESS) return;
    if (api.cuDeviceGetName(name, sizeof name - 1, device) == CUDA_SUCCESS) to.device = name;
    api.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
    api.cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
    to.compute_capability = static_cast<std::uint32_t>(major * 10 + minor);
    api.cuDriverGetVersion(&to.driver);
}

/// Says what the bytes of a parameter point to.
void take_target(const DriverApi& api, const LaunchRecord& launch, LaunchParameter& parameter) {
    std::uint64_t address = 0;
    if (parameter.bytes.size() != sizeof address) return;
    std::memcpy(&address, parameter.bytes.data(), sizeof address);
    for (const LaunchTensor& tensor : launch.tensors) {
        if (tensor.address != address || address == 0) continue;
        parameter.tensor = tensor.label;
        return;
    }
    CUdeviceptr begin = 0;
    std::size_t bytes = 0;
    if (address != 0 && api.cuMemGetAddressRange_v2(&begin, &bytes, address) == CUDA_SUCCESS)
        parameter.reachable = begin + bytes - address;
}

/// Returns false if the driver cannot say how the parameters lie.
bool take_parameters(const DriverApi& api, CUfunction function, void* const* parameters, LaunchRecord& to) {
    if (api.cuFuncGetParamInfo == nullptr) return false;
    std::size_t offset = 0;
    std::size_t size = 0;
    for (std::size_t i = 0; api.cuFuncGetParamInfo(function, i, &offset, &size) == CUDA_SUCCESS; ++i) {
        LaunchParameter& parameter = to.parameters.emplace_back();
        parameter.offset = static_cast<std::uint32_t>(offset);
        const auto* const bytes = static_cast<const std::byte*>(parameters[i]);
        parameter.bytes.assign(bytes, bytes + size);
        take_target(api, to, parameter);
    }
    return true;
}

/// `by` is the launch: the call itself, or inside of it.
void capture(CapturePart& part, const DriverApi& api, CallTensors& own, const OpenCall& call,
             const Passage& by) {
    const auto function = static_cast<CUfunction>(const_cast<void*>(by.function));
    LaunchRecord launch;
    launch.run = call.run;
    launch.call = call.number;
    launch.model = call.model;
    launch.kernel = site_facts(call.measured, call).kernel;
    const char* symbol = nullptr;
    if (api.cuFuncGetName != nullptr && api.cuFuncGetName(&symbol, function) == CUDA_SUCCESS)
        launch.function = symbol;
    find_arguments(own, *call.measured, call, When::before);
    take_tensors(own, launch);
    take_arguments(own, call, by.parameters, launch);
    take_shape(*by.shape, launch);
    launch.is_cooperative = launch.is_cooperative || by.is_cooperative;
    take_device(api, launch);
    CUmodule module = nullptr;
    const bool has_module =
        api.cuFuncGetModule != nullptr && api.cuFuncGetModule(&module, function) == CUDA_SUCCESS;
    if (take_parameters(api, function, by.parameters, launch))
        part.add(launch, has_module ? image_of(module) : nullptr);
}

void capture_selected(ThreadState& state, const OpenCall& call, const Passage& launch) {
    if (!call.before.saved || call.measured == nullptr || launch.parameters == nullptr) return;
    if (context_has_ended()) return;
    CapturePart* const part = state.session->part<CapturePart>();
    const DriverApi* const api = driver_api();
    if (part != nullptr && api != nullptr) capture(*part, *api, tensors_of(state), call, launch);
}

}  // namespace

CallMoments CaptureObserver::moments() const {
    return {.before_requested = options().captures};
}

void CaptureObserver::before(ThreadState& state, OpenCall& call) const {
    if (call.passage.shape != nullptr) return capture_selected(state, call, call.passage);
    capture_op(state, call);
}

void capture_inside(ThreadState& state, const OpenCall& call, const Passage& launch) {
    // What an op launches is the op's own matter.
    if (call.measured != nullptr && call.is_own && site_facts(call.measured, call).kind == "triton")
        capture_selected(state, call, launch);
}

}  // namespace aoti_dbg
