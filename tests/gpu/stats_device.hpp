// The driver functions for programs that launch our kernels themselves. They are looked up at run time, so
// that the programs compile without a driver. A failed call ends the program with its name.
#pragma once

#include <cuda.h>
#include <dlfcn.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <thread>
#include <vector>

#include "stats_kernels/device_code.hpp"
#include "stats_kernels/launch_plan.hpp"

namespace stats_device {

using namespace aoti_dbg;

[[noreturn]] inline void fail(const char* what, int code) {
    std::printf("FAILED: %s (%d)\n", what, code);
    std::exit(2);
}

#define STATS_TEXT_(name) #name
#define STATS_TEXT(name) STATS_TEXT_(name)
/// Calls a driver function by the versioned name that cuda.h gives it.
#define STATS_DRIVER(name, ...)                                                                   \
    do {                                                                                          \
        static const auto function =                                                              \
            reinterpret_cast<decltype(&::name)>(dlsym(stats_device::driver(), STATS_TEXT(name))); \
        if (function == nullptr) stats_device::fail("no " STATS_TEXT(name) " in the driver", 0);  \
        if (const CUresult stats_result = function(__VA_ARGS__); stats_result != CUDA_SUCCESS)    \
            stats_device::fail(STATS_TEXT(name), static_cast<int>(stats_result));                 \
    } while (false)

inline void* driver() {
    static void* const library = [] {
        void* opened = dlopen("libcuda.so.1", RTLD_NOW);
        if (opened == nullptr) fail(dlerror(), 0);
        return opened;
    }();
    return library;
}

/// The first device, its primary context, and one of our modules.
class Device {
  public:
    explicit Device(const DeviceCode& code = statistics_code()) {
        STATS_DRIVER(cuInit, 0);
        CUdevice device = 0;
        CUcontext context = nullptr;
        STATS_DRIVER(cuDeviceGet, &device, 0);
        STATS_DRIVER(cuDevicePrimaryCtxRetain, &context, device);
        STATS_DRIVER(cuCtxSetCurrent, context);
        int count = 0;
        STATS_DRIVER(cuDeviceGetAttribute, &count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
        limits_.multiprocessors = static_cast<std::uint32_t>(count);
        if (code.fatbin.empty()) fail("built without nvcc: no device code", 0);
        CUmodule module = nullptr;
        STATS_DRIVER(cuModuleLoadData, &module, code.fatbin.data());
        STATS_DRIVER(cuModuleGetFunction, &kernel_, module, code.kernel);
        int registers = 0;
        int resident = 0;
        STATS_DRIVER(cuFuncGetAttribute, &registers, CU_FUNC_ATTRIBUTE_NUM_REGS, kernel_);
        STATS_DRIVER(cuOccupancyMaxActiveBlocksPerMultiprocessor, &resident, kernel_, kBlockThreads, 0);
        char name[128] = "";
        STATS_DRIVER(cuDeviceGetName, name, sizeof(name), device);
        std::printf("%s: %d multiprocessors; the kernel has %d registers, %d blocks each\n", name, count,
                    registers, resident);
    }

    [[nodiscard]] const DeviceLimits& limits() const { return limits_; }

    /// `parameters` is a StatisticsLaunch, or what the module's kernel takes.
    template <typename Launch>
    void launch(Launch& parameters, CUstream stream) const {
        void* arguments[] = {&parameters};
        STATS_DRIVER(cuLaunchKernel, kernel_, parameters.blocks, 1, 1, kBlockThreads, 1, 1, 0, stream,
                     arguments, nullptr);
    }

    /// As the library does where the device can.
    template <typename Launch>
    void launch_overlapping(Launch& parameters, CUstream stream) const {
        void* arguments[] = {&parameters};
        CUlaunchAttribute attribute{};
        attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
        attribute.value.programmaticStreamSerializationAllowed = 1;
        const CUlaunchConfig config{parameters.blocks, 1, 1, kBlockThreads, 1, 1, 0, stream, &attribute, 1};
        STATS_DRIVER(cuLaunchKernelEx, &config, kernel_, arguments, nullptr);
    }

  private:
    CUfunction kernel_ = nullptr;
    DeviceLimits limits_;
};

/// Host memory that the device can read and write.
template <typename T>
class Mapped {
  public:
    explicit Mapped(std::size_t count) : count_(count) {
        void* host = nullptr;
        STATS_DRIVER(cuMemHostAlloc, &host, count * sizeof(T),
                     CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE);
        host_ = static_cast<T*>(host);
        STATS_DRIVER(cuMemHostGetDevicePointer, &device_, host, 0);
        for (std::size_t i = 0; i < count; ++i)
            host_[i] = T{};
    }
    Mapped(const Mapped&) = delete;
    Mapped& operator=(const Mapped&) = delete;
    ~Mapped() { STATS_DRIVER(cuMemFreeHost, host_); }

    T& operator[](std::size_t i) { return host_[i]; }
    [[nodiscard]] std::uint64_t address(std::size_t i) const { return device_ + i * sizeof(T); }
    [[nodiscard]] std::span<T> all() { return {host_, count_}; }

  private:
    std::size_t count_;
    T* host_ = nullptr;
    CUdeviceptr device_ = 0;
};

class DeviceMemory {
  public:
    explicit DeviceMemory(std::uint64_t bytes) { STATS_DRIVER(cuMemAlloc, &address_, bytes > 0 ? bytes : 1); }
    DeviceMemory(const DeviceMemory&) = delete;
    DeviceMemory& operator=(const DeviceMemory&) = delete;
    ~DeviceMemory() { STATS_DRIVER(cuMemFree, address_); }

    [[nodiscard]] CUdeviceptr address() const { return address_; }
    [[nodiscard]] const void* pointer() const { return reinterpret_cast<const void*>(address_); }
    void fill_from(const void* host, std::uint64_t bytes) const {
        STATS_DRIVER(cuMemcpyHtoD, address_, host, bytes);
    }
    void clear(std::uint64_t bytes) const { STATS_DRIVER(cuMemsetD8, address_, 0, bytes); }

  private:
    CUdeviceptr address_ = 0;
};

/// Waits until all lines have arrived. Like the library, it polls memory.
inline TensorPartial await(const ResultLine* lines, const ResultShape& shape, std::uint32_t sequence) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    TensorPartial partial;
    std::vector<std::byte> values(shape.bytes_of_values);
    while (gather(lines, shape, sequence, partial) != Gathered::whole ||
           !gather_values(lines, shape, sequence, values)) {
        if (std::chrono::steady_clock::now() > deadline) {
            STATS_DRIVER(cuCtxSynchronize);
            fail("no result after 20 seconds", static_cast<int>(sequence));
        }
        std::this_thread::yield();
    }
    return partial;
}

}  // namespace stats_device
