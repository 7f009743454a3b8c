// Launches empty kernels in a loop with the CUDA runtime, to measure the cost of a launch where a program
// does nothing else. It must not use the library.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#include "bench/timing.hpp"

namespace {

// A stream accepts 1024 launches before it blocks the program. With fewer, either the launching thread or the
// GPU bounds a round, not both in turn.
constexpr int kLaunches = 500;
constexpr int kRounds = 800;  // about a second

__global__ void empty_kernel(int) {}

void check(cudaError_t error, const char* what) {
    if (error == cudaSuccess) return;
    std::fprintf(stderr, "empty_kernels: %s: %s\n", what, cudaGetErrorString(error));
    std::exit(1);
}

}  // namespace

int main() {
    cudaStream_t stream = nullptr;
    check(cudaStreamCreate(&stream), "cudaStreamCreate");
    const auto round = [&] {
        for (int i = 0; i < kLaunches; ++i)
            empty_kernel<<<1, 32, 0, stream>>>(i);
        check(cudaGetLastError(), "launch");
        check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    };
    for (int i = 0; i < 50; ++i)
        round();  // until the GPU clocks have ramped up
    bench::report(bench::median_of_rounds(kRounds, kLaunches, round));
    check(cudaStreamDestroy(stream), "cudaStreamDestroy");
    return 0;
}
