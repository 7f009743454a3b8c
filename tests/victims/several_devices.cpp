// several_devices DEVICES LAUNCHES own|legacy: so many launches on each of the devices, which take turns:
// launch i of each is of kernel_<i % 5>, on a stream of its own or on its legacy stream. Then it waits for
// each device.
#include <string>
#include <vector>

#include "tests/victims/driver_user.hpp"

namespace {

constexpr char kKernels[] =
    "AOTI_DBG_FAKE_MODULE\n"
    "kernel kernel_0 nop\n"
    "kernel kernel_1 nop\n"
    "kernel kernel_2 nop\n"
    "kernel kernel_3 nop\n"
    "kernel kernel_4 nop\n";
constexpr int kNames = 5;

struct Stage {
    CUcontext context = nullptr;
    CUfunction kernels[kNames] = {};
    CUstream stream = nullptr;
};

Stage set(int device, bool on_legacy) {
    Stage stage;
    CUmodule module = nullptr;
    victim::must(cuDevicePrimaryCtxRetain(&stage.context, device), "cuDevicePrimaryCtxRetain");
    victim::must(cuCtxSetCurrent(stage.context), "cuCtxSetCurrent");
    victim::must(cuModuleLoadData(&module, kKernels), "cuModuleLoadData");
    for (int i = 0; i < kNames; ++i) {
        const std::string name = "kernel_" + std::to_string(i);
        victim::must(cuModuleGetFunction(&stage.kernels[i], module, name.c_str()), "cuModuleGetFunction");
    }
    if (!on_legacy) victim::must(cuStreamCreate(&stage.stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    return stage;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4) return 2;
    victim::must(cuInit(0), "cuInit");
    const int devices = std::atoi(argv[1]);
    std::vector<Stage> stages;
    stages.reserve(static_cast<std::size_t>(devices));
    for (int device = 0; device < devices; ++device)
        stages.push_back(set(device, std::string(argv[3]) == "legacy"));
    for (int i = 0; i < std::atoi(argv[2]); ++i) {
        for (const Stage& stage : stages) {
            victim::must(cuCtxSetCurrent(stage.context), "cuCtxSetCurrent");
            // What comes back is not looked at: behind a fault everything fails sooner or later.
            static_cast<void>(cuLaunchKernel(stage.kernels[i % kNames], 1, 1, 1, 1, 1, 1, 0, stage.stream,
                                             nullptr, nullptr));
        }
    }
    for (const Stage& stage : stages) {
        victim::must(cuCtxSetCurrent(stage.context), "cuCtxSetCurrent");
        std::printf("end: %d\n", static_cast<int>(cuCtxSynchronize()));
    }
    return 0;
}
