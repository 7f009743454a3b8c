// several_devices DEVICES LAUNCHES own|legacy|library [elsewhere|copies]: launches on each device in turn,
// then waits for each device. Launch i of a device is of kernel_<i % 5>, on its own or its legacy stream.
// library: on its own stream, while the last device's context stays current, which library kernels allow.
// copies: copies and fills memory in every way before each launch, within a device and to the next one.
// elsewhere: waits for events while the last device is current.
#include <string>
#include <vector>

#include "tests/victims/five_kernels.hpp"

namespace {

struct Stage {
    CUcontext context = nullptr;
    std::array<CUfunction, victim::kNames> kernels{};
    CUstream stream = nullptr;
    CUdeviceptr memory = 0;
};

constexpr std::size_t kBytes = 1 << 16;

Stage set(int device, bool on_legacy) {
    Stage stage;
    victim::must(cuDevicePrimaryCtxRetain(&stage.context, device), "cuDevicePrimaryCtxRetain");
    victim::must(cuCtxSetCurrent(stage.context), "cuCtxSetCurrent");
    stage.kernels = victim::load_five_kernels();
    if (!on_legacy) victim::must(cuStreamCreate(&stage.stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    victim::must(cuMemAlloc_v2(&stage.memory, kBytes), "cuMemAlloc");
    return stage;
}

template <typename Copy>
Copy rows_of(CUdeviceptr to, CUdeviceptr from) {
    Copy copy{};
    copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    copy.srcDevice = from;
    copy.dstDevice = to;
    copy.srcPitch = copy.dstPitch = 64;
    copy.WidthInBytes = 16;
    copy.Height = 4;
    return copy;
}

/// Ignores the results, like those of the launches.
void copy_and_fill(const Stage& here, const Stage& next) {
    const CUdeviceptr half = kBytes / 2;
    char bytes[64] = "";
    cuMemcpyDtoDAsync_v2(here.memory + half, here.memory, 64, here.stream);
    cuMemcpyAsync(here.memory + half, here.memory, 64, here.stream);
    cuMemcpyHtoDAsync_v2(here.memory, bytes, sizeof bytes, here.stream);
    cuMemcpyDtoDAsync_v2(next.memory, here.memory, 64, here.stream);
    cuMemcpyAsync(here.memory, next.memory, 64, here.stream);
    cuMemcpyDtoDAsync_v2(next.memory + half, next.memory, 64, here.stream);
    const auto rows = rows_of<CUDA_MEMCPY2D>(here.memory + half, here.memory);
    cuMemcpy2DAsync_v2(&rows, here.stream);
    auto slices = rows_of<CUDA_MEMCPY3D>(here.memory + half, here.memory);
    slices.Depth = 1;
    cuMemcpy3DAsync_v2(&slices, here.stream);
    auto between = rows_of<CUDA_MEMCPY3D_PEER>(here.memory + half, here.memory);
    between.srcContext = between.dstContext = here.context;
    between.Depth = 1;
    cuMemcpy3DPeerAsync(&between, here.stream);
    cuMemcpyPeerAsync(here.memory + half, here.context, here.memory, here.context, 64, here.stream);
    cuMemcpyPeer(here.memory + half, here.context, here.memory, here.context, 64);
    slices.Depth = 0;
    cuMemcpy3DAsync_v2(&slices, here.stream);
    cuMemsetD8Async(here.memory, 1, 4096, here.stream);
    cuMemsetD8Async(here.memory, 1, 4097, here.stream);
    cuMemsetD2D32Async(here.memory, 512, 1, 1, 2, here.stream);
}

/// Waits for an event of each device while the last one is current, then frees memory of each.
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
    const std::string besides = argc > 4 ? argv[4] : "";
    for (int i = 0; i < std::atoi(argv[2]); ++i) {
        for (std::size_t at = 0; at < stages.size(); ++at) {
            const Stage& stage = stages[at];
            if (!by_stream) victim::must(cuCtxSetCurrent(stage.context), "cuCtxSetCurrent");
            if (besides == "copies") copy_and_fill(stage, stages[(at + 1) % stages.size()]);
            // The result is ignored, because after a fault every call fails sooner or later.
            static_cast<void>(cuLaunchKernel(stage.kernels[static_cast<std::size_t>(i % victim::kNames)], 1,
                                             1, 1, 1, 1, 1, 0, stage.stream, nullptr, nullptr));
        }
    }
    if (besides == "elsewhere") wait_elsewhere(stages);
    for (const Stage& stage : stages) {
        victim::must(cuCtxSetCurrent(stage.context), "cuCtxSetCurrent");
        std::printf("end: %d\n", static_cast<int>(cuCtxSynchronize()));
    }
    return 0;
}
