// marked HOW: launches kernels in many ways, to test the markers behind them. kernel_<i> is the i-th of ten
// kernels.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tests/fakes/driver/fake_cuda_control.h"
#include "tests/victims/driver_user.hpp"

// HOW is one of
//   contexts     launches on the legacy streams of two contexts in turn, and prints both results
//   again N      N times: the primary context, launches in it, and its end
//   streams N    N streams that are busy at once
//   churn N      N threads, one after another, each with a launch on the same stream
//   together N   N threads that launch on one stream at once
//   stuck        launches that complete, then some that do not, and waits for them
//   fork         forks a child during launches; the child launches and ends, and the parent continues
//   loop N       N launches on one stream, and the time per launch on stderr
namespace {

constexpr int kKernels = 10;

struct Place {
    CUcontext context = nullptr;
    CUfunction kernels[kKernels] = {};
};

void load(Place& place) {
    std::string image = "AOTI_DBG_FAKE_MODULE\n";
    for (int i = 0; i < kKernels; ++i)
        image += "kernel kernel_" + std::to_string(i) + " nop\n";
    CUmodule module = nullptr;
    victim::must(cuModuleLoadData(&module, image.c_str()), "cuModuleLoadData");
    for (int i = 0; i < kKernels; ++i) {
        const std::string name = "kernel_" + std::to_string(i);
        victim::must(cuModuleGetFunction(&place.kernels[i], module, name.c_str()), "cuModuleGetFunction");
    }
}

Place primary() {
    Place place;
    victim::must(cuInit(0), "cuInit");
    victim::must(cuDevicePrimaryCtxRetain(&place.context, 0), "cuDevicePrimaryCtxRetain");
    victim::must(cuCtxSetCurrent(place.context), "cuCtxSetCurrent");
    load(place);
    return place;
}

/// Launches and checks that errno is unchanged.
CUresult launch(const Place& place, int kernel, CUstream stream) {
    errno = victim::kErrno;
    const CUresult result =
        cuLaunchKernel(place.kernels[kernel], 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr);
    if (errno != victim::kErrno) std::printf("errno changed\n");
    return result;
}

CUstream new_stream() {
    CUstream stream = nullptr;
    victim::must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    return stream;
}

void in_contexts() {
    Place places[2];
    places[0] = primary();
    victim::must(cuCtxCreate_v2(&places[1].context, 0, 0), "cuCtxCreate");
    load(places[1]);
    for (int i = 0; i < kKernels; ++i) {
        const Place& place = places[i % 2];
        victim::must(cuCtxSetCurrent(place.context), "cuCtxSetCurrent");
        static_cast<void>(launch(place, i, nullptr));
    }
    for (const Place& place : places) {
        victim::must(cuCtxSetCurrent(place.context), "cuCtxSetCurrent");
        std::printf("synchronised: %d\n", static_cast<int>(cuCtxSynchronize()));
    }
}

void in_one_after_the_other(int count) {
    for (int i = 0; i < count; ++i) {
        const Place place = primary();
        CUstream stream = new_stream();
        for (int kernel = 0; kernel < kKernels; ++kernel)
            static_cast<void>(launch(place, kernel, stream));
        std::printf("synchronised: %d\n", static_cast<int>(cuStreamSynchronize(stream)));
        // The next context may reuse the handles of this one.
        const CUresult ended = i % 2 == 0 ? cuDevicePrimaryCtxRelease_v2(0) : cuDevicePrimaryCtxReset_v2(0);
        victim::must(ended, "the end of the context");
    }
}

void on_busy_streams(int count) {
    const Place place = primary();
    std::vector<CUstream> streams;
    for (int i = 0; i < count; ++i) {
        streams.push_back(new_stream());
        fake_cuda_hold_stream(streams.back());
        victim::must(launch(place, i % kKernels, streams.back()), "cuLaunchKernel");
    }
    for (CUstream stream : streams)
        fake_cuda_release_stream(stream);
    std::printf("synchronised: %d\n", static_cast<int>(cuCtxSynchronize()));
    // Reuses the markers of streams that are idle again. After a fault, no stream can be created any more.
    for (CUstream& stream : streams)
        stream = new_stream();
    for (int i = 0; i < kKernels; ++i)
        static_cast<void>(launch(place, i, streams[static_cast<std::size_t>(i)]));
    std::printf("synchronised: %d\n", static_cast<int>(cuCtxSynchronize()));
}

void from_threads(int count, bool together) {
    const Place place = primary();
    CUstream stream = new_stream();
    const auto work = [&](int thread) {
        victim::must(cuCtxSetCurrent(place.context), "cuCtxSetCurrent");
        for (int i = 0; i < (together ? 100 : 1); ++i)
            static_cast<void>(launch(place, thread % kKernels, stream));
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i) {
        threads.emplace_back(work, i);
        if (!together) threads.back().join();
    }
    for (std::thread& thread : threads)
        if (thread.joinable()) thread.join();
    std::printf("synchronised: %d\n", static_cast<int>(cuStreamSynchronize(stream)));
}

void wait_for_stuck() {
    const Place place = primary();
    CUstream stream = new_stream();
    CUstream other = new_stream();
    std::atomic<bool> is_there{false};
    for (int i = 0; i < 5; ++i)
        victim::must(launch(place, i, stream), "cuLaunchKernel");
    victim::must(cuLaunchHostFunc(
                     stream, [](void* there) { *static_cast<std::atomic<bool>*>(there) = true; }, &is_there),
                 "cuLaunchHostFunc");
    // Waits without a driver call, which would show the host the progress.
    while (!is_there)
        usleep(1000);
    fake_cuda_hold_stream(stream);
    for (int i = 5; i < 9; ++i)
        victim::must(launch(place, i, stream), "cuLaunchKernel");
    victim::must(launch(place, 9, other), "cuLaunchKernel");
    std::printf("launched\n");
    std::fflush(stdout);
    std::printf("synchronised: %d\n", static_cast<int>(cuStreamSynchronize(stream)));
}

void with_child() {
    const Place place = primary();
    CUstream stream = new_stream();
    for (int i = 0; i < 5; ++i)
        victim::must(launch(place, i, stream), "cuLaunchKernel");
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        std::printf("child: %d\n", static_cast<int>(launch(place, 0, stream)));
        std::fflush(stdout);
        _exit(3);
    }
    int status = 0;
    waitpid(child, &status, 0);
    for (int i = 5; i < kKernels; ++i)
        static_cast<void>(launch(place, i, stream));
    std::printf("child ended: %d, synchronised: %d\n", WEXITSTATUS(status),
                static_cast<int>(cuStreamSynchronize(stream)));
}

void in_a_loop(int count) {
    const Place place = primary();
    CUstream stream = new_stream();
    static_cast<void>(launch(place, 0, stream));
    const auto begun = std::chrono::steady_clock::now();
    for (int i = 0; i < count; ++i)
        static_cast<void>(launch(place, i % kKernels, stream));
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begun;
    std::fprintf(stderr, "marked: %.3f us a launch\n", took.count() / count);
    std::printf("synchronised: %d\n", static_cast<int>(cuStreamSynchronize(stream)));
}

}  // namespace

int main(int argc, char** argv) {
    const std::string how = argc > 1 ? argv[1] : "";
    const int count = argc > 2 ? std::atoi(argv[2]) : 1;
    if (how == "contexts") {
        in_contexts();
    } else if (how == "again") {
        in_one_after_the_other(count);
    } else if (how == "streams") {
        on_busy_streams(count);
    } else if (how == "churn" || how == "together") {
        from_threads(count, how == "together");
    } else if (how == "stuck") {
        wait_for_stuck();
    } else if (how == "fork") {
        with_child();
    } else if (how == "loop") {
        in_a_loop(count);
    } else {
        return 2;
    }
    std::printf("ended\n");
    return 0;
}
