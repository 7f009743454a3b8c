// libinterposer_procaddr.so: another preloaded library that interposes cuGetProcAddress and, through it,
// cuLaunchKernel. It counts launches and forwards them. With INTERPOSER_REPORT=1, it prints its counts to
// standard error at exit.
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define INTERPOSER_API extern "C" __attribute__((visibility("default")))

namespace {

std::atomic<unsigned long> g_look_ups{0};
std::atomic<unsigned long> g_launches{0};
std::atomic<decltype(&::cuLaunchKernel)> g_launch{nullptr};

/// Returns the definition after this one, or the driver's if only the program opened the driver.
void* next(const char* name) {
    void* found = dlsym(RTLD_NEXT, name);
    if (found != nullptr) return found;
    void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    if (driver == nullptr) return nullptr;
    found = dlsym(driver, name);
    dlclose(driver);
    return found;
}

CUresult counted_launch(CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,
                        unsigned int block_x, unsigned int block_y, unsigned int block_z, unsigned int shared,
                        CUstream stream, void** parameters, void** extra) {
    g_launches.fetch_add(1, std::memory_order_relaxed);
    return g_launch.load(std::memory_order_acquire)(function, grid_x, grid_y, grid_z, block_x, block_y,
                                                    block_z, shared, stream, parameters, extra);
}

void substitute(const char* name, void** function, cuuint64_t flags) {
    if (name == nullptr || function == nullptr || *function == nullptr) return;
    const bool legacy = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) == 0;
    if (std::strcmp(name, "cuLaunchKernel") == 0 && legacy) {
        g_launch.store(reinterpret_cast<decltype(&::cuLaunchKernel)>(*function), std::memory_order_release);
        *function = reinterpret_cast<void*>(&counted_launch);
    }
}

__attribute__((destructor)) void report() {
    if (std::getenv("INTERPOSER_REPORT") == nullptr) return;
    dprintf(STDERR_FILENO, "interposer_procaddr: saw look-ups: %d, launches: %lu\n",
            g_look_ups.load() > 0 ? 1 : 0, g_launches.load());
}

}  // namespace

INTERPOSER_API CUresult cuGetProcAddress_v2(const char* name, void** function, int version, cuuint64_t flags,
                                            CUdriverProcAddressQueryResult* status) {
    static auto* const real = reinterpret_cast<decltype(&::cuGetProcAddress_v2)>(next("cuGetProcAddress_v2"));
    if (real == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
    g_look_ups.fetch_add(1, std::memory_order_relaxed);
    const CUresult result = real(name, function, version, flags, status);
    if (result == CUDA_SUCCESS) substitute(name, function, flags);
    return result;
}

INTERPOSER_API CUresult cuGetProcAddress(const char* name, void** function, int version, cuuint64_t flags) {
    static auto* const real = reinterpret_cast<decltype(&::cuGetProcAddress)>(next("cuGetProcAddress"));
    if (real == nullptr) return CUDA_ERROR_NOT_INITIALIZED;
    g_look_ups.fetch_add(1, std::memory_order_relaxed);
    const CUresult result = real(name, function, version, flags);
    if (result == CUDA_SUCCESS) substitute(name, function, flags);
    return result;
}
