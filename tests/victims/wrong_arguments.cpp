// Runs the fakes' CUDA model with arguments that it was not compiled for: wrong_arguments WHAT MODEL
// WHAT is sound (nothing is wrong), host (host memory declared as the device's), cpu (declared correctly),
// other_device (on the second device), dtype, size, two_inputs, failed_update, later_update (a failed update,
// then a valid one) or freed (before the run). The device waits until the run has made all launches, so that
// the output is always the same.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "tests/victims/cuda_worker.hpp"

namespace {

std::atomic<bool> g_goes_on{false};

void hold(void* /*nothing*/) {
    while (!g_goes_on)
        std::this_thread::yield();
}

CUdeviceptr allocate(CUcontext context) {
    CUdeviceptr memory = 0;
    MUST(cuCtxPushCurrent_v2(context));
    MUST(cuMemAlloc_v2(&memory, victim::kInputBytes));
    MUST(cuMemsetD8_v2(memory, 0, victim::kInputBytes));
    MUST(cuCtxPopCurrent_v2(&context));
    return memory;
}

}  // namespace

int main(int argc, char** argv) {
    const std::string what = argc > 2 ? argv[1] : "";
    const victim::Torch torch;
    CUcontext contexts[2] = {};
    MUST(cuInit(0));
    MUST(cuDevicePrimaryCtxRetain(&contexts[0], 0));
    if (what == "other_device") MUST(cuDevicePrimaryCtxRetain(&contexts[1], 1));
    MUST(cuCtxSetCurrent(contexts[0]));
    CUstream stream = nullptr;
    MUST(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    const victim::Model model(torch, argv[argc - 1], 0, "cuda");
    if (what == "failed_update" || what == "later_update")
        std::printf("update: %d\n", model.update_weights(&g_goes_on));
    if (what == "later_update") std::printf("update: %d\n", model.update_weights(nullptr));

    std::vector<float> on_host(victim::kInputBytes / sizeof(float), 1.0F);
    const bool is_on_host = what == "host" || what == "cpu";
    const CUdeviceptr memory = allocate(contexts[what == "other_device" ? 1 : 0]);
    if (what == "freed") MUST(cuMemFree_v2(memory));
    const int64_t sizes[] = {what == "size" ? 7 : victim::kRows, victim::kColumns};
    const int64_t strides[] = {victim::kColumns, 1};
    const int32_t dtype = what == "dtype" ? 4 : 6;
    AtenTensorHandle inputs[2] = {};
    for (AtenTensorHandle& input : inputs)
        torch.from_blob(is_on_host ? on_host.data() : reinterpret_cast<void*>(memory), 2, sizes, strides, 0,
                        dtype, what == "cpu" ? 0 : 1, 0, &input, 0, nullptr, 0);
    AtenTensorHandle outputs[3] = {};
    MUST(cuLaunchHostFunc(stream, hold, nullptr));
    const int32_t code = model.run(inputs, what == "two_inputs" ? 2 : 1, outputs, 3, stream, true);
    g_goes_on = true;
    std::printf("run: %d, then: %d\n", code, static_cast<int>(cuStreamSynchronize(stream)));
    std::fflush(stdout);
    std::_Exit(0);  // of a device that has faulted nothing can be given back
}
