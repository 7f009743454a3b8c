// A libcuda.so.1 for launch_bench that does nothing: every call succeeds at once, so a launch costs only what
// precedes the driver. It has no memory and no streams, and runs no kernel.
#include <cuda.h>

#define NULL_DRIVER_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

// Handles must be distinct valid addresses.
int g_context, g_module, g_function;

}  // namespace

NULL_DRIVER_EXPORT CUresult cuInit(unsigned int) {
    return CUDA_SUCCESS;
}

NULL_DRIVER_EXPORT CUresult cuDeviceGet(CUdevice* device, int) {
    *device = 0;
    return CUDA_SUCCESS;
}

NULL_DRIVER_EXPORT CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice) {
    *context = reinterpret_cast<CUcontext>(&g_context);
    return CUDA_SUCCESS;
}

NULL_DRIVER_EXPORT CUresult cuCtxSetCurrent(CUcontext) {
    return CUDA_SUCCESS;
}

NULL_DRIVER_EXPORT CUresult cuModuleLoad(CUmodule* module, const char*) {
    *module = reinterpret_cast<CUmodule>(&g_module);
    return CUDA_SUCCESS;
}

NULL_DRIVER_EXPORT CUresult cuModuleGetFunction(CUfunction* function, CUmodule, const char*) {
    *function = reinterpret_cast<CUfunction>(&g_function);
    return CUDA_SUCCESS;
}

NULL_DRIVER_EXPORT CUresult cuFuncGetName(const char** name, CUfunction) {
    *name = "empty_kernel";
    return CUDA_SUCCESS;
}

NULL_DRIVER_EXPORT CUresult cuLaunchKernel(CUfunction, unsigned int, unsigned int, unsigned int, unsigned int,
                                           unsigned int, unsigned int, unsigned int, CUstream, void**,
                                           void**) {
    return CUDA_SUCCESS;
}
