#include "shim/measure/gpu.hpp"

#include <sys/mman.h>

#include <new>

#include "base/message.hpp"
#include "stats_kernels/device_code.hpp"

namespace aoti_dbg {

bool is_end_of_context(CUresult result) {
    switch (result) {
        case CUDA_ERROR_DEINITIALIZED:
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

bool Gpu::Ring::open(const GpuApi& api) {
    const std::size_t bytes = kPlaces * sizeof(ResultLine);
    // Our own mapping, which outlives the context: what was measured can be read when the context is gone.
    void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    // A fork's child would hold its parent's pages, which the device writes to.
    madvise(memory, bytes, MADV_DONTFORK);
    const unsigned flags = CU_MEMHOSTREGISTER_DEVICEMAP | CU_MEMHOSTREGISTER_PORTABLE;
    if (api.cuMemHostRegister_v2(memory, bytes, flags) != CUDA_SUCCESS ||
        api.cuMemHostGetDevicePointer_v2(&device_, memory, 0) != CUDA_SUCCESS) {
        munmap(memory, bytes);
        return false;
    }
    lines_ = static_cast<ResultLine*>(memory);  // zeroed: no sequence is 0
    return true;
}

std::unique_ptr<Gpu> Gpu::set_up(const GpuApi& api, CUcontext context) {
    std::unique_ptr<Gpu> gpu(new (std::nothrow) Gpu(api, context));
    if (gpu == nullptr) return nullptr;
    const RelaxedCapture relaxed(api);
    const char* failed = nullptr;
    if (!has_device_code()) {
        failed = "this library was built without nvcc";
    } else if (!gpu->load_kernels()) {
        failed = "its driver does not take our kernels";
    } else if (!gpu->ring_.open(api)) {
        failed = "there is no host memory that the device can write to";
    }
    if (failed == nullptr) return gpu;
    message(Severity::warn,
            "tensors on CUDA device %d are not measured, because %s; names are printed (level 3)",
            gpu->device_, failed);
    return nullptr;
}

bool Gpu::load_kernels() {
    CUmodule module = nullptr;
    int multiprocessors = 0;
    int resident = 0;
    if (api_.cuCtxGetDevice(&device_) != CUDA_SUCCESS) return false;
    if (api_.cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device_) !=
        CUDA_SUCCESS)
        return false;
    if (api_.cuModuleLoadData(&module, device_code().data()) != CUDA_SUCCESS) return false;
    if (api_.cuModuleGetFunction(&statistics_kernel_, module, kStatisticsKernel) != CUDA_SUCCESS)
        return false;
    // Now, not at the first launch, where it may have to wait for all that the context is doing.
    if (api_.cuFuncLoad != nullptr) api_.cuFuncLoad(statistics_kernel_);
    limits_.multiprocessors = static_cast<std::uint32_t>(multiprocessors);
    if (api_.cuOccupancyMaxActiveBlocksPerMultiprocessor(&resident, statistics_kernel_, kBlockThreads, 0) ==
            CUDA_SUCCESS &&
        resident > 0)
        limits_.blocks_per_multiprocessor = static_cast<std::uint32_t>(resident);
    return true;
}

void Gpu::note_failure(CUresult result) {
    if (is_end_of_context(result)) return give_up();
    if (!usable_.exchange(false)) return;
    message(
        Severity::warn,
        "the driver refused to measure on CUDA device %d (error %d); from here on names are printed there "
        "(level 3)",
        device_, static_cast<int>(result));
}

}  // namespace aoti_dbg
