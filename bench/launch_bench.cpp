// Measures an exported launch hook with a driver that does nothing (null_driver.cpp, linked as libcuda.so.1).
// Bare and preloaded runs then differ only by the hook. It must not use the library.
//   launch_bench ROUNDS [LAUNCHES]
#include <cuda.h>

#include <cstdio>
#include <cstdlib>

#include "bench/timing.hpp"

namespace {

constexpr int kLaunches = 20000;  // per round by default, about 2 MB of lines at level 3

}  // namespace

int main(int argc, char** argv) {
    if (argc != 2 && argc != 3) return 2;
    const int launches = argc == 3 ? std::atoi(argv[2]) : kLaunches;
    CUdevice device = 0;
    CUcontext context = nullptr;
    CUmodule module = nullptr;
    CUfunction function = nullptr;
    if (cuInit(0) != CUDA_SUCCESS || cuDeviceGet(&device, 0) != CUDA_SUCCESS ||
        cuDevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS ||
        cuCtxSetCurrent(context) != CUDA_SUCCESS || cuModuleLoad(&module, "empty.cubin") != CUDA_SUCCESS ||
        cuModuleGetFunction(&function, module, "empty_kernel") != CUDA_SUCCESS) {
        std::fprintf(stderr, "launch_bench: this is not the driver it was linked with\n");
        return 1;
    }
    int count = 0;
    void* parameters[] = {&count};
    int failed = 0;
    bench::report(bench::median_of_rounds(std::atoi(argv[1]), launches, [&] {
        for (int i = 0; i < launches; ++i) {
            failed +=
                cuLaunchKernel(function, 1, 1, 1, 128, 1, 1, 0, nullptr, parameters, nullptr) != CUDA_SUCCESS;
        }
    }));
    return failed == 0 ? 0 : 1;
}
