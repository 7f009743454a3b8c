// Links libcuda.so.1 and calls the driver's functions through its own import slots.
#include "tests/victims/driver_work.hpp"

int main() {
    victim::Driver driver;
#define DRIVER_FUNCTION(name, symbol, version) driver.name = &::symbol;
#define DRIVER_STREAM_FUNCTION(name, symbol, twin, version) driver.name = &::symbol;
#include "tests/victims/driver_api.def"
    if (int result = victim::work(driver); result != 0) return result;

    // Direct calls too, because the linker creates another kind of slot for them.
    CUcontext context = nullptr;
    CUmodule module = nullptr;
    CUfunction empty = nullptr;
    victim::must(cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
    victim::must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
    victim::must(cuModuleLoadData(&module, victim::kImage), "cuModuleLoadData");
    victim::must(cuModuleGetFunction(&empty, module, "empty_kernel"), "cuModuleGetFunction");
    victim::must(cuLaunchKernel(empty, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr), "cuLaunchKernel");
    victim::must(cuLaunchKernel_ptsz(empty, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
                 "cuLaunchKernel_ptsz");
    victim::must(cuCtxSynchronize(), "cuCtxSynchronize");
    std::printf("linked: done\n");
    return 0;
}
