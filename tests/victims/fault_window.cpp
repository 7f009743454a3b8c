// fault_window HOW: launches a dozen kernels of three names in turn on one stream and then does what HOW
// says. It exits normally, whatever the device did.
#include <link.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

#include "tests/victims/driver_user.hpp"

// HOW is one of
//   stream, context, event, query, copy   waits for the device in this way and prints the result
//   often                                 launches and waits for thousands of kernels, for at least 350 ms
//   launch                                launches again once the driver's debugger is loaded
//   exit, _exit, abandon                  ends without waiting: from main, at once, or after a reset of the
//                                         context
//   idle                                  ends without waiting, 300 ms later
//   fork                                  forks a child that calls exit, then does the same as stream
namespace {

constexpr char kKernels[] =
    "AOTI_DBG_FAKE_MODULE\n"
    "kernel first_kernel nop\n"
    "kernel second_kernel nop\n"
    "kernel third_kernel nop\n";
constexpr const char* kNames[] = {"first_kernel", "second_kernel", "third_kernel"};
constexpr int kLaunches = 12;

struct Stage {
    CUcontext context = nullptr;
    CUfunction kernels[3] = {};
    CUstream stream = nullptr;
    CUdeviceptr memory = 0;
    CUevent event = nullptr;
};

CUresult launch(const Stage& stage, int which) {
    return cuLaunchKernel(stage.kernels[which], 1, 1, 1, 1, 1, 1, 0, stage.stream, nullptr, nullptr);
}

Stage set() {
    Stage stage;
    CUmodule module = nullptr;
    victim::must(cuInit(0), "cuInit");
    victim::must(cuDevicePrimaryCtxRetain(&stage.context, 0), "cuDevicePrimaryCtxRetain");
    victim::must(cuCtxSetCurrent(stage.context), "cuCtxSetCurrent");
    victim::must(cuModuleLoadData(&module, kKernels), "cuModuleLoadData");
    for (int i = 0; i < 3; ++i)
        victim::must(cuModuleGetFunction(&stage.kernels[i], module, kNames[i]), "cuModuleGetFunction");
    victim::must(cuStreamCreate(&stage.stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    victim::must(cuMemAlloc_v2(&stage.memory, 64), "cuMemAlloc");
    victim::must(cuEventCreate(&stage.event, 0), "cuEventCreate");
    return stage;
}

/// The results are not printed, because they depend on how far the device has come.
void launch_all(const Stage& stage) {
    for (int i = 0; i < kLaunches; ++i)
        static_cast<void>(launch(stage, i % 3));
    static_cast<void>(cuEventRecord(stage.event, stage.stream));
}

void ask(const Stage& stage, const char* how) {
    const auto is = [how](const char* what) { return std::strcmp(how, what) == 0; };
    CUresult result = CUDA_SUCCESS;
    char bytes[64];
    if (is("stream")) result = cuStreamSynchronize(stage.stream);
    if (is("context")) result = cuCtxSynchronize();
    if (is("event")) result = cuEventSynchronize(stage.event);
    if (is("copy")) {
        // A copy on another stream would not wait for this one.
        result = cuMemcpyDtoHAsync_v2(bytes, stage.memory, sizeof bytes, stage.stream);
        if (result == CUDA_SUCCESS) result = cuStreamSynchronize(stage.stream);
    }
    if (is("query")) {
        while ((result = cuStreamQuery(stage.stream)) == CUDA_ERROR_NOT_READY)
            usleep(1000);
    }
    std::printf("%s: %d\n", how, static_cast<int>(result));
}

bool debugger_is_loaded() {
    const auto is_it = [](dl_phdr_info* object, std::size_t, void*) {
        return std::strstr(object->dlpi_name, "libcudadebugger.so") != nullptr ? 1 : 0;
    };
    return dl_iterate_phdr(is_it, nullptr) != 0;
}

void launch_when_it_is_loaded(const Stage& stage) {
    for (int i = 0; i < 20'000 && !debugger_is_loaded(); ++i)
        usleep(1000);
    std::printf("debugger: %d, launch: %d\n", debugger_is_loaded() ? 1 : 0,
                static_cast<int>(launch(stage, 0)));
}

void wait_often(const Stage& stage) {
    const auto begun = std::chrono::steady_clock::now();
    int failed = 0;
    for (int i = 0; i < 3000 || std::chrono::steady_clock::now() - begun < std::chrono::milliseconds(350);
         ++i) {
        static_cast<void>(launch(stage, i % 3));
        if (cuStreamSynchronize(stage.stream) != CUDA_SUCCESS) ++failed;
    }
    std::printf("failed: %d\n", failed);
    std::fflush(stdout);
}

void fork_child() {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) std::exit(5);
    int status = 0;
    victim::must(waitpid(child, &status, 0) == child ? CUDA_SUCCESS : CUDA_ERROR_UNKNOWN, "waitpid");
    std::printf("child: %d\n", status);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    const char* const how = argv[1];
    const Stage stage = set();
    launch_all(stage);
    std::printf("launched\n");
    std::fflush(stdout);
    if (std::strcmp(how, "_exit") == 0) _exit(0);
    if (std::strcmp(how, "exit") == 0) return 0;
    if (std::strcmp(how, "idle") == 0) {
        usleep(300'000);
    } else if (std::strcmp(how, "abandon") == 0) {
        static_cast<void>(cuDevicePrimaryCtxReset_v2(0));
    } else if (std::strcmp(how, "launch") == 0) {
        launch_when_it_is_loaded(stage);
    } else if (std::strcmp(how, "often") == 0) {
        wait_often(stage);
    } else if (std::strcmp(how, "fork") == 0) {
        fork_child();
        ask(stage, "stream");
    } else {
        ask(stage, how);
    }
    return 0;
}
