// The CUDA driver functions that the library itself calls, past all hooks. It looks them up once, with the
// types of cuda.h.
#pragma once

#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>

#include <cstddef>
#include <cstdint>

namespace aoti_dbg {

struct GpuApi {
#define AOTI_DBG_DRIVER_FUNCTIONS(X)               \
    X(cuCtxGetCurrent)                             \
    X(cuCtxPushCurrent_v2)                         \
    X(cuCtxPopCurrent_v2)                          \
    X(cuCtxGetDevice)                              \
    X(cuDeviceGetAttribute)                        \
    X(cuThreadExchangeStreamCaptureMode)           \
    X(cuStreamIsCapturing)                         \
    X(cuStreamQuery)                               \
    X(cuModuleLoadData)                            \
    X(cuModuleGetFunction)                         \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor) \
    X(cuMemHostRegister_v2)                        \
    X(cuMemHostGetDevicePointer_v2)                \
    X(cuMemHostUnregister)                         \
    X(cuPointerGetAttribute)                       \
    X(cuLaunchKernel)
// NOLINTNEXTLINE(bugprone-macro-parentheses): a name that is declared
#define AOTI_DBG_DECLARE(name) decltype(&::name) name = nullptr;
    AOTI_DBG_DRIVER_FUNCTIONS(AOTI_DBG_DECLARE)
#undef AOTI_DBG_DECLARE
    // Some supported drivers lack these, so each may be null.
    CUresult (*cuFuncGetParamInfo)(CUfunction, std::size_t, std::size_t*, std::size_t*) = nullptr;
    CUresult (*cuFuncLoad)(CUfunction) = nullptr;
    CUresult (*cuStreamGetFlags)(CUstream, unsigned int*) = nullptr;
    CUresult (*cuStreamGetCtx)(CUstream, CUcontext*) = nullptr;
    CUresult (*cuStreamWriteValue32_v2)(CUstream, CUdeviceptr, cuuint32_t, unsigned int) = nullptr;
};

/// Returns null until a driver is loaded, and always for a driver that lacks a required function.
const GpuApi* gpu_api();

/// Returns the size of the allocation at `address`, or 0 if it is unknown.
std::uint64_t allocation_bytes(std::uint64_t address);

/// Lets this thread make calls that are unsafe during a capture, whichever thread captures. The capture does
/// not include them.
class RelaxedCapture {
  public:
    explicit RelaxedCapture(const GpuApi& api)
        : api_(api), is_relaxed_(api_.cuThreadExchangeStreamCaptureMode(&mode_) == CUDA_SUCCESS) {}
    ~RelaxedCapture() {
        if (is_relaxed_) api_.cuThreadExchangeStreamCaptureMode(&mode_);
    }
    RelaxedCapture(const RelaxedCapture&) = delete;
    RelaxedCapture& operator=(const RelaxedCapture&) = delete;

  private:
    const GpuApi& api_;
    CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
    bool is_relaxed_;
};

/// Makes `context` current in the calling thread for the lifetime of this object.
class ContextScope {
  public:
    ContextScope(const GpuApi& api, CUcontext context) : api_(api) {
        CUcontext current = nullptr;
        api_.cuCtxGetCurrent(&current);
        pushed_ = current != context && api_.cuCtxPushCurrent_v2(context) == CUDA_SUCCESS;
    }
    ~ContextScope() {
        CUcontext popped = nullptr;
        if (pushed_) api_.cuCtxPopCurrent_v2(&popped);
    }
    ContextScope(const ContextScope&) = delete;
    ContextScope& operator=(const ContextScope&) = delete;

  private:
    const GpuApi& api_;
    bool pushed_ = false;
};

}  // namespace aoti_dbg
