// Runs the fakes' CUDA models and touches their memory on another stream.
//   unordered WHAT MODEL [MODEL]
// The model's stream is not ordered with other streams, except with the legacy stream for some WHAT. A second
// stream uploads the input or reads the output, before or after the run, or runs a second model.
// tests/preload/races_test.cpp says which cases are races. The output must not depend on the order.
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/victims/cuda_worker.hpp"

namespace {

using victim::kInputBytes;

CUstream make_stream(unsigned flags) {
    CUstream stream = nullptr;
    MUST(cuStreamCreate(&stream, flags));
    return stream;
}

CUdeviceptr make_memory() {
    CUdeviceptr memory = 0;
    MUST(cuMemAlloc_v2(&memory, kInputBytes));
    MUST(cuMemsetD8_v2(memory, 0, kInputBytes));
    return memory;
}

struct Stage {
    explicit Stage(const std::string& what)
        : is_blocking(what.find("legacy") != std::string::npos && what != "set_legacy"),
          stream(make_stream(is_blocking ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING)),
          other(make_stream(is_blocking ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING)) {
        MUST(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
        MUST(cuMemAllocAsync(&input, kInputBytes, stream));
        MUST(cuMemsetD8Async(input, 0, kInputBytes, stream));
        MUST(cuMemHostAlloc(&on_host, kInputBytes, 0));
        std::memset(on_host, 0, kInputBytes);
        MUST(cuCtxSynchronize());
    }

    bool is_blocking;
    CUstream stream;
    CUstream other;
    CUstream third = make_stream(CU_STREAM_NON_BLOCKING);
    CUevent event = nullptr;
    CUdeviceptr input = 0;
    CUdeviceptr spare = make_memory();
    void* on_host = nullptr;
    CUdeviceptr output = 0;
};

/// Returns the address of the first output, which is never freed, or 0 if the run failed.
CUdeviceptr run(const victim::Torch& torch, const victim::Model& model, CUdeviceptr input, CUstream stream) {
    const int64_t sizes[] = {victim::kRows, victim::kColumns};
    const int64_t strides[] = {victim::kColumns, 1};
    AtenTensorHandle handle = nullptr;
    AtenTensorHandle outputs[3] = {};
    torch.from_blob(reinterpret_cast<void*>(input), 2, sizes, strides, 0, 6, 1, 0, &handle, 0, nullptr, 0);
    const int32_t code = model.run(&handle, 1, outputs, 3, stream, true);
    std::printf("run: %d\n", code);
    if (code != 0) return 0;
    void* data = nullptr;
    torch.data(outputs[0], &data);
    return reinterpret_cast<CUdeviceptr>(data);
}

void upload(const Stage& stage, CUstream stream) {
    MUST(cuMemcpyHtoDAsync_v2(stage.input, stage.on_host, kInputBytes, stream));
}

void touch(const std::string& what, const Stage& stage) {
    if (what == "copy") {
        MUST(cuMemcpyDtoDAsync_v2(stage.input, stage.spare, kInputBytes, stage.other));
    } else if (what == "set") {
        MUST(cuMemsetD32Async(stage.input + 64, 0, 16, stage.other));
    } else if (what == "set_legacy") {
        MUST(cuMemsetD8_v2(stage.input, 0, kInputBytes));
    } else if (what == "set_2d") {
        MUST(cuMemsetD2D8Async(stage.input, 128, 0, 64, 4, stage.other));
    } else if (what == "fetch") {
        MUST(cuMemcpyDtoHAsync_v2(stage.on_host, stage.output, 64, stage.other));
    } else if (what == "free") {
        MUST(cuMemFreeAsync(stage.input, stage.other));
    } else {
        upload(stage, what == "same_stream"           ? stage.stream
                      : what.ends_with("legacy_only") ? nullptr
                                                      : stage.other);
    }
}

void CUDA_CB nothing(void* /*data*/) {}

std::atomic<bool> g_is_called{false};
void CUDA_CB call(void* /*data*/) {
    g_is_called = true;
}

/// Creates a graph with a host callback.
CUgraphExec make_graph(CUstream stream) {
    CUgraph graph = nullptr;
    CUgraphExec ready = nullptr;
    MUST(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    MUST(cuLaunchHostFunc(stream, call, nullptr));
    MUST(cuStreamEndCapture(stream, &graph));
    MUST(cuGraphInstantiateWithFlags(&ready, graph, 0));
    return ready;
}

/// Creates and destroys contexts with non-blocking streams.
void use_other_contexts() {
    for (int i = 0; i < 5; ++i) {
        CUcontext context = nullptr;
        MUST(cuCtxCreate_v2(&context, 0, 0));
        for (int j = 0; j < 3; ++j)
            MUST(cuMemsetD8Async(make_memory(), 0, 4, make_stream(CU_STREAM_NON_BLOCKING)));
        MUST(cuCtxDestroy_v2(context));
    }
}

/// Does what WHAT requests between the run and the next access to its memory.
void order(const std::string& what, Stage& stage) {
    if (what == "event" || what == "waits_later" || what == "event_host")
        MUST(cuEventRecord(stage.event, stage.stream));
    if (what == "event") MUST(cuStreamWaitEvent(stage.other, stage.event, 0));
    if (what == "waits_later") {
        MUST(cuStreamWaitEvent(stage.third, stage.event, 0));
        MUST(cuEventRecord(stage.event, stage.third));
        MUST(cuStreamWaitEvent(stage.other, stage.event, 0));
    }
    if (what == "event_host") MUST(cuEventSynchronize(stage.event));
    if (what == "host") MUST(cuStreamSynchronize(stage.stream));
    if (what == "all") MUST(cuCtxSynchronize());
    if (what == "query") {
        while (cuStreamQuery(stage.stream) == CUDA_ERROR_NOT_READY) {
        }
    }
    if (what == "callback") MUST(cuLaunchHostFunc(stage.stream, nothing, nullptr));
    if (what == "value") MUST(cuStreamWaitValue32_v2(stage.other, stage.spare, 0, CU_STREAM_WAIT_VALUE_EQ));
    if (what == "write_value") MUST(cuStreamWriteValue32_v2(stage.stream, stage.spare, 1, 0));
    if (what == "graph") {
        MUST(cuGraphLaunch(make_graph(stage.third), stage.stream));
        while (!g_is_called)
            std::this_thread::yield();
    }
    if (what == "copy_pinned") MUST(cuMemcpyDtoHAsync_v2(stage.on_host, stage.output, 64, stage.stream));
    if (what == "copy_home") {
        static std::vector<char> home(kInputBytes);  // lives until the copy has completed
        MUST(cuMemcpyAsync(reinterpret_cast<CUdeviceptr>(home.data()), stage.output, 64, stage.stream));
    }
    for (int i = 0; what == "come_and_go" && i < 1000; ++i) {
        CUstream stream = make_stream(i % 2 == 0 ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING);
        MUST(cuMemsetD8Async(stage.spare, 0, 4, stream));
        MUST(cuStreamDestroy_v2(stream));
    }
    for (int i = 0; what == "too_many" && i < 300; ++i)
        MUST(cuMemsetD8Async(stage.spare, 0, 4, make_stream(CU_STREAM_NON_BLOCKING)));
    if (what == "through_legacy") MUST(cuMemsetD8Async(stage.spare, 0, 4, nullptr));
}

}  // namespace

int main(int argc, char** argv) {
    const std::string what = argc > 2 ? argv[1] : "";
    const victim::Torch torch;
    CUcontext context = nullptr;
    MUST(cuInit(0));
    if (what == "contexts_legacy_only") use_other_contexts();
    MUST(cuDevicePrimaryCtxRetain(&context, 0));
    MUST(cuCtxSetCurrent(context));
    std::vector<std::unique_ptr<victim::Model>> models;
    for (int i = 2; i < argc; ++i)
        models.push_back(std::make_unique<victim::Model>(torch, argv[i], 0, "cuda"));
    Stage stage(what);
    run(torch, *models.front(), stage.input, stage.stream);  // loads everything
    MUST(cuCtxSynchronize());

    CUgraph graph = nullptr;
    if (what == "early_upload") upload(stage, stage.other);
    if (what == "captured") MUST(cuStreamBeginCapture_v2(stage.stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    stage.output = run(torch, *models.front(), stage.input, stage.stream);
    if (what == "captured") MUST(cuStreamEndCapture(stage.stream, &graph));
    order(what, stage);
    if (what == "chain") {
        run(torch, *models.back(), stage.output - kInputBytes / 2, stage.other);
    } else if (what == "readers") {
        run(torch, *models.back(), stage.input, stage.other);
    } else if (what != "early_upload") {
        touch(what, stage);
    }
    if (what == "twice") {
        MUST(cuCtxSynchronize());
        run(torch, *models.front(), stage.input, stage.stream);
        MUST(cuMemsetD8Async(stage.input, 0, kInputBytes, stage.other));
    }
    std::printf("then: %d\n", static_cast<int>(cuCtxSynchronize()));
    std::fflush(stdout);
    std::_Exit(0);
}
