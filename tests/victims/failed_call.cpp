// failed_call HOW: launches that the driver refuses. It prints the results and ends with status 3.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <thread>
#include <vector>

#include "tests/victims/five_kernels.hpp"

// HOW is one of
//   block      a block with too many threads
//   shared     too much shared memory
//   killed     the same, and the process ends by SIGKILL
//   own        the same, while the program has a callback of its own, which it unregisters and registers
//   again fork       forks a child, in which every call fails, before the parent's launch with too much
//   shared memory many N     N refused launches, with blocks of 2000 threads and more threads N  N threads at
//   once with 100 refused launches each, and one more at the end
namespace {

struct Stage {
    CUcontext context = nullptr;
    std::array<CUfunction, victim::kNames> kernels{};

    Stage() {
        victim::must(cuInit(0), "cuInit");
        victim::must(cuDevicePrimaryCtxRetain(&context, 0), "cuDevicePrimaryCtxRetain");
        victim::must(cuCtxSetCurrent(context), "cuCtxSetCurrent");
        kernels = victim::load_five_kernels();
    }

    /// errno must not change, whatever the driver logs.
    [[nodiscard]] CUresult launch(std::size_t kernel, unsigned block, unsigned shared = 0) const {
        errno = victim::kErrno;
        const CUresult result =
            cuLaunchKernel(kernels[kernel], 1, 1, 1, block, 1, 1, shared, nullptr, nullptr, nullptr);
        if (errno != victim::kErrno) std::printf("errno changed\n");
        return result;
    }
};

constexpr unsigned kTooMuch = 1U << 20U;

void print(const char* what, CUresult result) {
    std::printf("%s: %d\n", what, static_cast<int>(result));
}

int g_heard = 0;
void hear(void* data, CUlogLevel level, char* text, std::size_t bytes) {
    ++g_heard;
    std::printf("heard %s, level %d: %.*s", static_cast<const char*>(data), static_cast<int>(level),
                static_cast<int>(bytes), text);
    text[0] = '?';
}

void with_own_callback(const Stage& stage) {
    static char name[] = "first";
    CUlogsCallbackHandle handle = nullptr;
    victim::must(cuLogsRegisterCallback(hear, name, &handle), "cuLogsRegisterCallback");
    print("shared", stage.launch(1, 1, kTooMuch));
    victim::must(cuLogsUnregisterCallback(handle), "cuLogsUnregisterCallback");
    print("again", stage.launch(1, 1, kTooMuch));
    victim::must(cuLogsRegisterCallback(hear, name, nullptr), "cuLogsRegisterCallback");
    print("shared", stage.launch(2, 1, kTooMuch));
    std::printf("heard %d\n", g_heard);
}

void in_child(const Stage& stage) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) _exit(stage.launch(0, 1) == CUDA_ERROR_NOT_INITIALIZED ? 5 : 1);
    int status = 0;
    waitpid(child, &status, 0);
    std::printf("child: %d\n", WEXITSTATUS(status));
    print("shared", stage.launch(1, 1, kTooMuch));
}

void in_threads(const Stage& stage, int count) {
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i) {
        threads.emplace_back([&stage] {
            victim::must(cuCtxSetCurrent(stage.context), "cuCtxSetCurrent");
            for (unsigned n = 0; n < 100; ++n)
                if (stage.launch(n % 4, 2000 + n) != CUDA_ERROR_INVALID_VALUE) std::printf("not refused\n");
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    print("shared", stage.launch(4, 1, kTooMuch));
}

}  // namespace

int main(int argc, char** argv) {
    const std::string how = argc > 1 ? argv[1] : "";
    const int count = argc > 2 ? std::atoi(argv[2]) : 0;
    const Stage stage;
    print("good", stage.launch(0, 1));
    if (how == "block") print("block", stage.launch(1, 4096));
    if (how == "shared" || how == "killed") print("shared", stage.launch(1, 1, kTooMuch));
    if (how == "own") with_own_callback(stage);
    if (how == "fork") in_child(stage);
    for (int i = 0; i < (how == "many" ? count : 0); ++i)
        static_cast<void>(stage.launch(static_cast<std::size_t>(i) % 5, 2000U + static_cast<unsigned>(i)));
    if (how == "threads") in_threads(stage, count);
    print("end", cuCtxSynchronize());
    std::fflush(stdout);
    if (how == "killed") raise(SIGKILL);
    return 3;
}
