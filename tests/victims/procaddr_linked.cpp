// Links the driver and gets all other functions from its cuGetProcAddress, so that its calls pass another
// preloaded library that interposes cuGetProcAddress.
#include "tests/victims/driver_user.hpp"

int main() {
    victim::Driver driver;
#define DRIVER_FUNCTION(name, symbol, version)                                                        \
    {                                                                                                 \
        void* function = nullptr;                                                                     \
        victim::must(cuGetProcAddress_v2(#name, &function, version, 0, nullptr), "cuGetProcAddress"); \
        driver.name = reinterpret_cast<decltype(driver.name)>(function);                              \
    }
#define DRIVER_STREAM_FUNCTION(name, symbol, twin, version) DRIVER_FUNCTION(name, symbol, version)
#include "tests/victims/driver_api.def"
    victim::use_device(driver);
    CUmodule module = nullptr;
    CUfunction empty = nullptr;
    victim::must(driver.cuModuleLoadData(&module, victim::kImage), "cuModuleLoadData");
    victim::must(driver.cuModuleGetFunction(&empty, module, "empty_kernel"), "cuModuleGetFunction");
    for (int i = 0; i < 3; ++i) {
        victim::say("launch", driver.cuLaunchKernel, empty, 1U, 1U, 1U, 1U, 1U, 1U, 0U, CUstream{}, nullptr,
                    nullptr);
    }
    victim::say("synchronize", driver.cuCtxSynchronize);
    return 0;
}
