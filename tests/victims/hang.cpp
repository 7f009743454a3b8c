// hang HOW [FILE|SECONDS]: waits for a stream that never starts its work, or works without a hang. Tests of
// the hang watchdog use it.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "tests/fakes/driver/fake_cuda_control.h"
#include "tests/victims/driver_user.hpp"

// These values of HOW hang:
//   stream, context, event, copy   in a call that does not return
//   query, event_query             polling until the work is done
//   second, anew                   like stream, 0.4 s after the first context did some work: on a second
//                                  device, or in a new context that replaces the first after a reset
//   deaf                           like stream, and ignores SIGTERM
//   fork                           like stream, in a child forked before the driver was loaded
//   sleep, host                   in no call: sleeps or computes until FILE exists
//   behind                         like sleep, with another stream that waits for the first
//   late_query                     like query, 0.6 s later
//   over                           like sleep, and exits with 3 when all work is complete
// These do not:
//   idle, busy, steps              sleeps, computes, or launches and waits repeatedly, for SECONDS or
//                                  longer than any test waits
//   slow                           launches work that takes 0.6 s each, without waiting
//   beside                         launches on one stream beside another that is stalled
//   failed                         sleeps after its context failed with an error
//   back, capture                  like stream, in a thread, until FILE exists; with capture, the main
//                                  thread captures a graph in global mode meanwhile
namespace {

constexpr char kKernels[] =
    "AOTI_DBG_FAKE_MODULE\n"
    "kernel done_kernel nop\n"
    "kernel endless_kernel nop\n"
    "kernel later_kernel nop\n";
constexpr std::chrono::milliseconds kLong(2500);

using Clock = std::chrono::steady_clock;

struct Stage {
    CUcontext context = nullptr;
    CUmodule module = nullptr;
    CUstream stream = nullptr;
    CUstream other = nullptr;
    CUevent event = nullptr;
    CUdeviceptr memory = 0;
};

void say(const char* text) {
    std::printf("%s\n", text);
    std::fflush(stdout);
}

void launch(const Stage& stage, const char* kernel, CUstream stream) {
    CUfunction function = nullptr;
    victim::must(cuModuleGetFunction(&function, stage.module, kernel), "cuModuleGetFunction");
    victim::must(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr), "cuLaunchKernel");
}

Stage set(bool on_legacy, int device = 0) {
    Stage stage;
    victim::must(cuInit(0), "cuInit");
    victim::must(cuDevicePrimaryCtxRetain(&stage.context, device), "cuDevicePrimaryCtxRetain");
    victim::must(cuCtxSetCurrent(stage.context), "cuCtxSetCurrent");
    victim::must(cuModuleLoadData(&stage.module, kKernels), "cuModuleLoadData");
    if (!on_legacy) victim::must(cuStreamCreate(&stage.stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    victim::must(cuStreamCreate(&stage.other, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    victim::must(cuEventCreate(&stage.event, 0), "cuEventCreate");
    victim::must(cuMemAlloc_v2(&stage.memory, 64), "cuMemAlloc");
    return stage;
}

/// Launches a kernel that completes, one that never starts, one behind it, and one on another stream.
void hand_over(const Stage& stage) {
    launch(stage, "done_kernel", stage.stream);
    victim::must(cuStreamSynchronize(stage.stream), "cuStreamSynchronize");
    fake_cuda_hold_stream(stage.stream);
    launch(stage, "endless_kernel", stage.stream);
    launch(stage, "later_kernel", stage.stream);
    victim::must(cuEventRecord(stage.event, stage.stream), "cuEventRecord");
    launch(stage, "done_kernel", stage.other);
}

void wait_for(const Stage& stage, const char* how) {
    const auto is = [how](const char* what) { return std::strcmp(how, what) == 0; };
    char bytes[64];
    CUresult result = CUDA_SUCCESS;
    if (is("context")) {
        result = cuCtxSynchronize();
    } else if (is("event")) {
        result = cuEventSynchronize(stage.event);
    } else if (is("copy")) {
        result = cuMemcpyDtoH_v2(bytes, stage.memory, sizeof bytes);
    } else if (is("query")) {
        while ((result = cuStreamQuery(stage.stream)) == CUDA_ERROR_NOT_READY)
            usleep(1000);
    } else if (is("event_query")) {
        while ((result = cuEventQuery(stage.event)) == CUDA_ERROR_NOT_READY)
            usleep(1000);
    } else {
        result = cuStreamSynchronize(stage.stream);
    }
    std::printf("%s: %d\n", how, static_cast<int>(result));
}

void work_for_long(const Stage& stage, const char* how, std::chrono::milliseconds time) {
    const Clock::time_point until = Clock::now() + time;
    if (std::strcmp(how, "idle") == 0) return std::this_thread::sleep_until(until);
    volatile std::uint64_t number = 0;
    while (Clock::now() < until) {
        if (std::strcmp(how, "busy") == 0) {
            number = number + 1;
            continue;
        }
        launch(stage, "done_kernel", stage.stream);
        victim::must(cuStreamSynchronize(stage.stream), "cuStreamSynchronize");
        usleep(10'000);
    }
}

void work_unawaited(const Stage& stage, const char* how) {
    const bool is_slow = std::strcmp(how, "slow") == 0;
    for (int i = 0; i < 5; ++i) {
        if (is_slow || i == 0) fake_cuda_hold_stream(stage.stream);
        launch(stage, "later_kernel", stage.stream);
        std::this_thread::sleep_for(std::chrono::milliseconds(600));
        if (is_slow || i == 4) fake_cuda_release_stream(stage.stream);
        launch(stage, "done_kernel", stage.other);
    }
    victim::must(cuCtxSynchronize(), "cuCtxSynchronize");
}

/// Stalls one stream, and makes a stream with earlier launches wait for it.
void hand_over_behind(const Stage& stage) {
    launch(stage, "done_kernel", stage.other);
    victim::must(cuStreamSynchronize(stage.other), "cuStreamSynchronize");
    fake_cuda_hold_stream(stage.stream);
    launch(stage, "endless_kernel", stage.stream);
    victim::must(cuEventRecord(stage.event, stage.stream), "cuEventRecord");
    victim::must(cuStreamWaitEvent(stage.other, stage.event, 0), "cuStreamWaitEvent");
    launch(stage, "later_kernel", stage.other);
}

/// Sleeps meanwhile, or spins if `pause` is 0.
void await_file(const char* path, useconds_t pause = 10'000) {
    while (access(path, F_OK) != 0)
        if (pause != 0) usleep(pause);
}

/// Captures a graph of one launch until the file exists.
void capture_until(const Stage& stage, const char* path) {
    CUgraph graph = nullptr;
    std::size_t nodes = 0;
    victim::must(cuStreamBeginCapture_v2(stage.other, CU_STREAM_CAPTURE_MODE_GLOBAL), "cuStreamBeginCapture");
    launch(stage, "done_kernel", stage.other);
    await_file(path);
    const CUresult result = cuStreamEndCapture(stage.other, &graph);
    if (result == CUDA_SUCCESS) victim::must(cuGraphGetNodes(graph, nullptr, &nodes), "cuGraphGetNodes");
    std::printf("captured: %d, nodes: %zu\n", static_cast<int>(result), nodes);
}

void come_back(const Stage& stage, const char* how, const char* path) {
    hand_over(stage);
    victim::must(cuStreamSynchronize(stage.other), "cuStreamSynchronize");
    std::thread waiting([&stage] {
        CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
        victim::must(cuThreadExchangeStreamCaptureMode(&mode), "cuThreadExchangeStreamCaptureMode");
        victim::must(cuCtxSetCurrent(stage.context), "cuCtxSetCurrent");
        wait_for(stage, "stream");
    });
    if (std::strcmp(how, "capture") == 0) {
        capture_until(stage, path);
    } else {
        await_file(path);
    }
    fake_cuda_release_stream(stage.stream);
    waiting.join();
}

/// Creates a stage after another context that launched work some time before.
Stage set_behind(const char* how) {
    const Stage first = set(false);
    launch(first, "done_kernel", first.stream);
    victim::must(cuCtxSynchronize(), "cuCtxSynchronize");
    usleep(400'000);
    if (std::strcmp(how, "second") == 0) return set(false, 1);
    victim::must(cuDevicePrimaryCtxReset_v2(0), "cuDevicePrimaryCtxReset");
    return set(false);
}

int hang_in_child() {
    const pid_t child = fork();
    if (child == 0) {
        const Stage stage = set(false);
        hand_over(stage);
        wait_for(stage, "stream");
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    std::printf("child: %d\n", status);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    const char* const how = argv[1];
    const auto is = [how](const char* what) { return std::strcmp(how, what) == 0; };
    if (is("fork")) return hang_in_child();
    if (is("deaf")) std::signal(SIGTERM, SIG_IGN);
    const Stage stage = is("second") || is("anew") ? set_behind(how) : set(is("copy"));
    say("set");
    if (is("idle") || is("busy") || is("steps")) {
        launch(stage, "done_kernel", stage.stream);
        work_for_long(stage, how, argc < 3 ? kLong : std::chrono::seconds(std::atoi(argv[2])));
    } else if (is("failed")) {
        hand_over(stage);
        fake_cuda_fail_call(1, CUDA_ERROR_ILLEGAL_ADDRESS);
        CUdeviceptr memory = 0;
        std::printf("%d\n", static_cast<int>(cuMemAlloc_v2(&memory, 64)));
        std::this_thread::sleep_for(kLong + std::chrono::seconds(1));
        fake_cuda_release_stream(stage.stream);
    } else if (is("slow") || is("beside")) {
        work_unawaited(stage, how);
    } else if (is("sleep") || is("host") || is("behind") || is("over")) {
        if (argc < 3) return 2;
        if (is("behind")) {
            hand_over_behind(stage);
        } else {
            hand_over(stage);
        }
        await_file(argv[2], is("host") ? 0 : 10'000);
        fake_cuda_release_stream(stage.stream);
        wait_for(stage, how);
        if (is("over")) return 3;
    } else if (is("late_query")) {
        hand_over(stage);
        usleep(600'000);
        wait_for(stage, "query");
    } else if (is("back") || is("capture")) {
        if (argc < 3) return 2;
        come_back(stage, how, argv[2]);
    } else {
        hand_over(stage);
        wait_for(stage, how);
    }
    say("ended");
    return 0;
}
