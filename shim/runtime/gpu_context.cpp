#include "shim/runtime/gpu_context.hpp"

#include "base/message.hpp"
#include "shim/runtime/ended_context.hpp"
#include "shim/runtime/launch_count.hpp"
#include "stats_kernels/device_job.hpp"

namespace aoti_dbg {

bool is_end_of_context(CUresult result) {
    switch (result) {
        case CUDA_ERROR_DEINITIALIZED:
        case CUDA_ERROR_ECC_UNCORRECTABLE:
        case CUDA_ERROR_NVLINK_UNCORRECTABLE:
        case CUDA_ERROR_EXTERNAL_DEVICE:
        case CUDA_ERROR_MPS_CLIENT_TERMINATED:
        case CUDA_ERROR_CONTEXT_IS_DESTROYED:
        case CUDA_ERROR_ILLEGAL_ADDRESS:
        case CUDA_ERROR_LAUNCH_TIMEOUT:
        case CUDA_ERROR_ASSERT:
        case CUDA_ERROR_HARDWARE_STACK_ERROR:
        case CUDA_ERROR_ILLEGAL_INSTRUCTION:
        case CUDA_ERROR_MISALIGNED_ADDRESS:
        case CUDA_ERROR_INVALID_ADDRESS_SPACE:
        case CUDA_ERROR_INVALID_PC:
        case CUDA_ERROR_LAUNCH_FAILED:
            return true;
        default:
            return false;
    }
}

bool register_memory(const DriverApi& api, void* memory, std::size_t bytes, CUdeviceptr& device) {
    const unsigned flags = CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_PORTABLE;
    if (api.cuMemHostRegister_v2(memory, bytes, flags) != CUDA_SUCCESS) return false;
    if (api.cuMemHostGetDevicePointer_v2(&device, memory, 0) == CUDA_SUCCESS) return true;
    api.cuMemHostUnregister(memory);
    return false;
}

const char* GpuContext::load(const DeviceCode& code) {
    if (code.fatbin.empty()) return "the library was built without nvcc";
    return load_kernel(code) ? nullptr : "the driver cannot load the library's kernels";
}

bool GpuContext::load_kernel(const DeviceCode& code) {
    CUmodule module = nullptr;
    int multiprocessors = 0;
    int resident = 0;
    if (api_.cuCtxGetDevice(&device_) != CUDA_SUCCESS) return false;
    if (api_.cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device_) !=
        CUDA_SUCCESS)
        return false;
    if (api_.cuModuleLoadData(&module, code.fatbin.data()) != CUDA_SUCCESS) return false;
    if (api_.cuModuleGetFunction(&kernel_, module, code.kernel) != CUDA_SUCCESS) return false;
    // The kernels wait for their predecessor themselves since this capability.
    int major = 0;
    api_.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device_);
    overlaps_ = api_.cuLaunchKernelEx != nullptr && major >= 9;
    // Load it now, because loading at the first launch may wait for all work in the context.
    if (api_.cuFuncLoad != nullptr) api_.cuFuncLoad(kernel_);
    limits_.multiprocessors = static_cast<std::uint32_t>(multiprocessors);
    if (api_.cuOccupancyMaxActiveBlocksPerMultiprocessor(&resident, kernel_, kBlockThreads, 0) ==
            CUDA_SUCCESS &&
        resident > 0)
        limits_.blocks_per_multiprocessor = static_cast<std::uint32_t>(resident);
    return true;
}

void GpuContext::say_why_not(const char* why) const {
    message(Severity::warn, "tensors on CUDA device %d are not %s: %s. Names are printed instead (level 3).",
            device_, purpose_.participle, why);
}

CUresult GpuContext::launch(CUstream stream, std::uint32_t blocks, void* parameter) {
    const ContextScope context(api_, context_);
    void* parameters[] = {parameter};
    next_launch_number(stream);
    if (overlaps_.load(std::memory_order_relaxed)) {
        CUlaunchAttribute attribute{};
        attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
        attribute.value.programmaticStreamSerializationAllowed = 1;
        const CUlaunchConfig config{blocks, 1, 1, kBlockThreads, 1, 1, 0, stream, &attribute, 1};
        const CUresult result = api_.cuLaunchKernelEx(&config, kernel_, parameters, nullptr);
        if (result != CUDA_ERROR_INVALID_VALUE && result != CUDA_ERROR_NOT_SUPPORTED) return result;
        overlaps_.store(false, std::memory_order_relaxed);
    }
    return api_.cuLaunchKernel(kernel_, blocks, 1, 1, kBlockThreads, 1, 1, 0, stream, parameters, nullptr);
}

void GpuContext::note_failure(CUresult result) {
    note_context_error(result);
    if (is_end_of_context(result)) return give_up();
    if (!usable_.exchange(false)) return;
    message(Severity::warn,
            "the driver refused to %s tensors on CUDA device %d (CUDA error %d). From now on, names are "
            "printed instead (level 3).",
            purpose_.infinitive, device_, static_cast<int>(result));
}

}  // namespace aoti_dbg
