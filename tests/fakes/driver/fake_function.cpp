// Queries of functions and kernels: names, parameters, attributes. Here, a CUkernel is not a valid
// CUfunction.
#include "tests/fakes/driver/fake_driver.hpp"

namespace fake_cuda {
namespace {

CUresult parameter_info(const KernelImage* image, std::size_t index, std::size_t* offset, std::size_t* size) {
    if (offset == nullptr || index >= image->offsets.size()) return CUDA_ERROR_INVALID_VALUE;
    *offset = image->offsets[index];
    if (size != nullptr) *size = image->sizes[index];
    return CUDA_SUCCESS;
}

CUresult get_attribute(int* value, CUfunction_attribute attribute, const Launchable* function) {
    if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    switch (attribute) {
        case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
            *value = 1024;
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_NUM_REGS:
            *value = 32;
            return CUDA_SUCCESS;
        case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
            *value = static_cast<int>(function->dynamic_shared.load());
            return CUDA_SUCCESS;
        default:
            break;
    }
    if (attribute < 0 || attribute >= CU_FUNC_ATTRIBUTE_MAX) return CUDA_ERROR_INVALID_VALUE;
    *value = 0;
    return CUDA_SUCCESS;
}

CUresult set_attribute(Launchable* function, CUfunction_attribute attribute, int value) {
    if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (attribute == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) return CUDA_SUCCESS;
    if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value < 0 || value > 227 * 1024) {
        return CUDA_ERROR_INVALID_VALUE;
    }
    function->dynamic_shared = static_cast<unsigned int>(value);
    return CUDA_SUCCESS;
}

}  // namespace
}  // namespace fake_cuda

using namespace fake_cuda;

FAKE_API CUresult cuKernelGetName(const char** name, CUkernel handle) {
    if (CUresult result = enter(); result != CUDA_SUCCESS) return result;
    const Kernel* kernel = pools().kernels.check(handle);
    if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *name = kernel->image->name.c_str();
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuFuncGetName(const char** name, CUfunction handle) {
    if (CUresult result = enter(); result != CUDA_SUCCESS) return result;
    const Function* function = pools().functions.check(handle);
    if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *name = function->image->name.c_str();
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuFuncGetModule(CUmodule* out, CUfunction handle) {
    if (CUresult result = enter(); result != CUDA_SUCCESS) return result;
    const Function* function = pools().functions.check(handle);
    if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = reinterpret_cast<CUmodule>(function->module);
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuFuncGetParamInfo(CUfunction handle, std::size_t index, std::size_t* offset,
                                     std::size_t* size) {
    if (CUresult result = enter(); result != CUDA_SUCCESS) return result;
    const Function* function = pools().functions.check(handle);
    if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    const CUresult result = parameter_info(function->image, index, offset, size);
    return result == CUDA_SUCCESS ? result : failed(result, "cuFuncGetParamInfo", "no such parameter");
}

FAKE_API CUresult cuKernelGetParamInfo(CUkernel handle, std::size_t index, std::size_t* offset,
                                       std::size_t* size) {
    if (CUresult result = enter(); result != CUDA_SUCCESS) return result;
    const Kernel* kernel = pools().kernels.check(handle);
    return kernel == nullptr ? CUDA_ERROR_INVALID_HANDLE : parameter_info(kernel->image, index, offset, size);
}

FAKE_API CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction handle) {
    if (CUresult result = enter(); result != CUDA_SUCCESS) return result;
    return get_attribute(value, attribute, pools().functions.check(handle));
}

FAKE_API CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute attribute, int value) {
    if (CUresult result = enter(); result != CUDA_SUCCESS) return result;
    return set_attribute(pools().functions.check(handle), attribute, value);
}

FAKE_API CUresult cuKernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel handle,
                                       CUdevice) {
    if (CUresult result = enter(); result != CUDA_SUCCESS) return result;
    return get_attribute(value, attribute, pools().kernels.check(handle));
}

FAKE_API CUresult cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel handle, CUdevice) {
    if (CUresult result = enter(); result != CUDA_SUCCESS) return result;
    return set_attribute(pools().kernels.check(handle), attribute, value);
}

// ---- loading and occupancy ----

FAKE_API CUresult cuFuncLoad(CUfunction handle) {
    if (CUresult result = enter(); result != CUDA_SUCCESS) return result;
    if (CUresult result = unsafe_during_capture(); result != CUDA_SUCCESS) return result;
    return pools().functions.check(handle) == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

FAKE_API CUresult cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction handle) {
    if (CUresult result = enter(); result != CUDA_SUCCESS) return result;
    if (state == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (pools().functions.check(handle) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    *state = CU_FUNCTION_LOADING_STATE_LOADED;
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction handle,
                                                                       int threads, std::size_t,
                                                                       unsigned int flags) {
    if (CUresult result = enter(); result != CUDA_SUCCESS) return result;
    if (blocks == nullptr || threads <= 0 || flags > CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)
        return CUDA_ERROR_INVALID_VALUE;
    if (pools().functions.check(handle) == nullptr && pools().kernels.check(handle) == nullptr)
        return CUDA_ERROR_INVALID_HANDLE;
    *blocks = threads > 1024 ? 0 : 1024 / threads;
    return CUDA_SUCCESS;
}

FAKE_API CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction handle, int threads,
                                                              std::size_t shared) {
    return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, handle, threads, shared, 0);
}
