// The CUDA driver functions that the library itself calls, past all hooks. Their types and constants come
// from cuda.h. Do not declare one anywhere else.
#pragma once

#ifndef __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_VERSION_INTERNAL
#endif
#include <cuda.h>

#include <cstdint>

// The oldest supported toolkit is 12.4, whose header lacks these.
#if CUDA_VERSION < 12050
inline constexpr auto CU_COREDUMP_GENERATION_FLAGS = static_cast<CUcoredumpSettings>(CU_COREDUMP_PIPE + 1);
inline constexpr unsigned CU_COREDUMP_SKIP_ABORT = 1U << 4U;
inline constexpr unsigned CU_COREDUMP_LIGHTWEIGHT_FLAGS = 0x2fU;
extern "C" CUresult CUDAAPI cuStreamGetCtx_v2(CUstream stream, CUcontext* context, CUgreenCtx* green);
#endif
#if CUDA_VERSION < 12090
enum CUlogLevel : unsigned { CU_LOG_LEVEL_ERROR, CU_LOG_LEVEL_WARNING };
using CUlogsCallbackHandle = struct CUlogsCallbackEntry_st*;
using CUlogsCallback = void(CUDA_CB*)(void* data, CUlogLevel level, char* message, size_t length);
extern "C" CUresult CUDAAPI cuLogsRegisterCallback(CUlogsCallback callback, void* data,
                                                   CUlogsCallbackHandle* handle);
#endif

// Every supported driver has these.
#define AOTI_DBG_REQUIRED_DRIVER_FUNCTIONS(X)      \
    X(cuDriverGetVersion)                          \
    X(cuDeviceGet)                                 \
    X(cuDeviceGetAttribute)                        \
    X(cuDeviceGetCount)                            \
    X(cuDeviceGetName)                             \
    X(cuCtxGetCurrent)                             \
    X(cuCtxPushCurrent_v2)                         \
    X(cuCtxPopCurrent_v2)                          \
    X(cuCtxGetDevice)                              \
    X(cuCtxSynchronize)                            \
    X(cuThreadExchangeStreamCaptureMode)           \
    X(cuStreamIsCapturing)                         \
    X(cuStreamQuery)                               \
    X(cuModuleLoadData)                            \
    X(cuModuleGetFunction)                         \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor) \
    X(cuMemGetAddressRange_v2)                     \
    X(cuMemGetInfo_v2)                             \
    X(cuMemHostRegister_v2)                        \
    X(cuMemHostGetDevicePointer_v2)                \
    X(cuMemHostUnregister)                         \
    X(cuPointerGetAttribute)                       \
    X(cuLaunchKernel)

// Some supported drivers lack these, so each may be null.
#define AOTI_DBG_OPTIONAL_DRIVER_FUNCTIONS(X) \
    X(cuCoredumpGetAttributeGlobal)           \
    X(cuCoredumpSetAttributeGlobal)           \
    X(cuDeviceGetUuid)                        \
    X(cuDeviceGetUuid_v2)                     \
    X(cuFuncGetModule)                        \
    X(cuFuncGetName)                          \
    X(cuFuncGetParamInfo)                     \
    X(cuFuncLoad)                             \
    X(cuKernelGetName)                        \
    X(cuLaunchKernelEx)                       \
    X(cuLogsRegisterCallback)                 \
    X(cuStreamGetCtx)                         \
    X(cuStreamGetCtx_v2)                      \
    X(cuStreamGetFlags)                       \
    X(cuStreamWriteValue32_v2)

namespace aoti_dbg {

/// How many of its own driver calls the library is inside of, in this thread.
extern __thread unsigned t_own_driver_calls __attribute__((tls_model("initial-exec")));

inline bool is_own_driver_call() {
    return t_own_driver_calls != 0;
}

/// A driver function that the library calls for itself. What the driver logs about such a call is not about
/// the program.
template <typename Function>
class OwnDriverFunction;

template <typename... Parameters>
class OwnDriverFunction<CUresult (*)(Parameters...)> {
  public:
    using Pointer = CUresult (*)(Parameters...);

    OwnDriverFunction() = default;
    OwnDriverFunction(Pointer function) : function_(function) {}

    CUresult operator()(Parameters... parameters) const {
        ++t_own_driver_calls;
        const CUresult result = function_(parameters...);
        --t_own_driver_calls;
        return result;
    }
    operator Pointer() const { return function_; }

  private:
    Pointer function_ = nullptr;
};

struct DriverApi {
// NOLINTNEXTLINE(bugprone-macro-parentheses): a name that is declared
#define AOTI_DBG_DECLARE(name) OwnDriverFunction<decltype(&::name)> name;
    AOTI_DBG_REQUIRED_DRIVER_FUNCTIONS(AOTI_DBG_DECLARE)
    AOTI_DBG_OPTIONAL_DRIVER_FUNCTIONS(AOTI_DBG_DECLARE)
#undef AOTI_DBG_DECLARE
};

/// Returns null until a driver is loaded, and always for a driver that lacks a required function.
const DriverApi* driver_api();

/// Returns the size of the allocation at `address`, or 0 if it is unknown.
std::uint64_t allocation_bytes(std::uint64_t address);

/// Lets this thread make calls that are unsafe during a capture, whichever thread captures. The capture does
/// not include them.
class RelaxedCapture {
  public:
    explicit RelaxedCapture(const DriverApi& api)
        : api_(api), is_relaxed_(api_.cuThreadExchangeStreamCaptureMode(&mode_) == CUDA_SUCCESS) {}
    ~RelaxedCapture() {
        if (is_relaxed_) api_.cuThreadExchangeStreamCaptureMode(&mode_);
    }
    RelaxedCapture(const RelaxedCapture&) = delete;
    RelaxedCapture& operator=(const RelaxedCapture&) = delete;

  private:
    const DriverApi& api_;
    CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
    bool is_relaxed_;
};

/// Makes `context` current in the calling thread for the lifetime of this object.
class ContextScope {
  public:
    ContextScope(const DriverApi& api, CUcontext context) : api_(api) {
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
    const DriverApi& api_;
    bool pushed_ = false;
};

}  // namespace aoti_dbg
