// several_devices DEVICES LAUNCHES own|legacy|library [elsewhere]: so many launches on each of the devices,
// which take turns: launch i of each is of kernel_<i % 5>, on a stream of its own or on its legacy stream.
// library: on its own, while the context of the last device is the thread's all the time, as kernels of a
// library can be. Then it waits for each device.
#include <string>
#include <vector>

#include "tests/victims/five_kernels.hpp"

namespace {

struct Stage {
    CUcontext context = nullptr;
    std::array<CUfunction, victim::kNames> kernels{};
    CUstream stream = nullptr;
};

Stage set(int device, bool on_legacy) {
    Stage stage;
    victim::must(cuDevicePrimaryCtxRetain(&stage.context, device), "cuDevicePrimaryCtxRetain");
    victim::must(cuCtxSetCurrent(stage.context), "cuCtxSetCurrent");
    stage.kernels = victim::load_five_kernels();
    if (!on_legacy) victim::must(cuStreamCreate(&stage.stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    return stage;
}

/// For an event of each device while the last one is current, then frees memory of each.
void wait_elsewhere(const std::vector<Stage>& stages) {
    std::vector<CUevent> events(stages.size());
    std::vector<CUdeviceptr> memories(stages.size());
    for (std::size_t i = 0; i < stages.size(); ++i) {
        victim::must(cuCtxSetCurrent(stages[i].context), "cuCtxSetCurrent");
        victim::must(cuEventCreate(&events[i], 0), "cuEventCreate");
        victim::must(cuEventRecord(events[i], stages[i].stream), "cuEventRecord");
        victim::must(cuMemAlloc_v2(&memories[i], 64), "cuMemAlloc");
    }
    for (CUevent event : events)
        victim::must(cuEventSynchronize(event), "cuEventSynchronize");
    for (const CUdeviceptr memory : memories)
        victim::must(cuMemFree_v2(memory), "cuMemFree");
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4) return 2;
    victim::must(cuInit(0), "cuInit");
    const int devices = std::atoi(argv[1]);
    std::vector<Stage> stages;
    stages.reserve(static_cast<std::size_t>(devices));
    const std::string where = argv[3];
    for (int device = 0; device < devices; ++device)
        stages.push_back(set(device, where == "legacy"));
    const bool by_stream = where == "library";
    if (by_stream) {
        for (Stage& stage : stages)
            stage.kernels = victim::load_five_library_kernels();
    }
    for (int i = 0; i < std::atoi(argv[2]); ++i) {
        for (const Stage& stage : stages) {
            if (!by_stream) victim::must(cuCtxSetCurrent(stage.context), "cuCtxSetCurrent");
            // What comes back is not looked at: behind a fault everything fails sooner or later.
            static_cast<void>(cuLaunchKernel(stage.kernels[static_cast<std::size_t>(i % victim::kNames)], 1,
                                             1, 1, 1, 1, 1, 0, stage.stream, nullptr, nullptr));
        }
    }
    if (argc > 4) wait_elsewhere(stages);
    for (const Stage& stage : stages) {
        victim::must(cuCtxSetCurrent(stage.context), "cuCtxSetCurrent");
        std::printf("end: %d\n", static_cast<int>(cuCtxSynchronize()));
    }
    return 0;
}
