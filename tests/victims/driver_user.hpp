// Shared by the driver victims: the driver as a table of functions, however they were found, and calls that
// print their results. The output must depend only on the program.
#pragma once

#ifndef __CUDA_API_VERSION_INTERNAL
#define __CUDA_API_VERSION_INTERNAL
#endif
#include <cuda.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace victim {

struct Driver {
#define DRIVER_FUNCTION(name, symbol, version) decltype(&::symbol) name = nullptr;
#define DRIVER_STREAM_FUNCTION(name, symbol, twin, version) decltype(&::symbol) name = nullptr;
#include "tests/victims/driver_api.def"
};

/// The value of errno before every printed call. A driver may change it, but a library in between may not.
constexpr int kErrno = EXDEV;

template <typename Function, typename... Arguments>
CUresult say(const char* text, Function* function, Arguments... arguments) {
    if (function == nullptr) {
        std::printf("%s is missing\n", text);
        std::exit(98);
    }
    errno = kErrno;
    const CUresult result = function(arguments...);
    const int errno_after = errno;
    std::printf("%s -> %d, errno %s\n", text, static_cast<int>(result),
                errno_after == kErrno ? "kept" : "changed");
    return result;
}

/// For calls that must succeed.
inline void must(CUresult result, const char* what) {
    if (result == CUDA_SUCCESS) return;
    std::printf("%s failed with %d\n", what, static_cast<int>(result));
    std::exit(97);
}

inline void print_floats(const char* text, const float* values, int count) {
    std::printf("%s:", text);
    for (int i = 0; i < count; ++i)
        std::printf(" %g", static_cast<double>(values[i]));
    std::printf("\n");
}

constexpr char kImage[] =
    "AOTI_DBG_FAKE_MODULE\n"
    "kernel add_kernel add\n"
    "kernel fill_kernel fill\n"
    "kernel empty_kernel nop\n"
    "kernel faulting_kernel fault\n";

/// Makes the primary context of device 0 current in this thread.
inline CUcontext use_device(const Driver& driver) {
    CUcontext context = nullptr;
    must(driver.cuInit(0), "cuInit");
    must(driver.cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
    must(driver.cuCtxSetCurrent(context), "cuCtxSetCurrent");
    return context;
}

/// Computes out[i] = a[i] + b[i].
inline CUresult launch_add(const Driver& driver, CUfunction add, CUdeviceptr a, CUdeviceptr b,
                           CUdeviceptr out, std::int32_t count, CUstream stream) {
    void* parameters[] = {&a, &b, &out, &count};
    return driver.cuLaunchKernel(add, 1, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr);
}

}  // namespace victim
