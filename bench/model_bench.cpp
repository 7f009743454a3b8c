// Time of one run of a package made by AOTInductor, in a C++ program on LibTorch. Knows nothing of the
// library.
//   model_bench PACKAGE.pt2 cpu|cuda float|half SECONDS|ROUNDSxRUNS D0 [D1...]
// D0, D1, ... is the shape of the one input. Runs about SECONDS, or so many rounds of so many runs where each
// run leaves much behind; a round ends by waiting for the device. Prints the median of the rounds.
#include <ATen/ops/randn.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>
#include <torch/cuda.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "bench/timing.hpp"

namespace {

// Some 10 ms a round on a GPU: long beside the wait at its end, short enough for hundreds of rounds.
constexpr int kRunsOnGpu = 20;

double time_runs(const std::string& package, bool cuda, at::ScalarType type, const char* length,
                 const std::vector<std::int64_t>& shape) {
    const c10::InferenceMode guard;
    torch::inductor::AOTIModelPackageLoader loader(package);
    const at::Tensor input = at::randn(shape, at::device(cuda ? at::kCUDA : at::kCPU).dtype(type));
    int runs = cuda ? kRunsOnGpu : 1;
    int rounds = 0;
    const bool is_counted = std::sscanf(length, "%dx%d", &rounds, &runs) == 2;
    const auto round = [&] {
        for (int i = 0; i < runs; ++i)
            loader.run({input});
        if (cuda) torch::cuda::synchronize();
    };
    if (is_counted) {
        round();
        round();
        return bench::median_of_rounds(rounds, runs, round);
    }
    // Clocks, caches and the allocator settle within a fifth of the time; what it took says how many rounds
    // fit.
    const double seconds = std::atof(length);
    const bench::Clock::time_point start = bench::Clock::now();
    int warm_up = 0;
    do {
        round();
        ++warm_up;
    } while (bench::nanoseconds_since(start) < seconds / 5 * 1e9 || warm_up < 3);
    const double round_nanoseconds = bench::nanoseconds_since(start) / warm_up;
    return bench::median_of_rounds(std::max(5, static_cast<int>(seconds * 1e9 / round_nanoseconds)), runs,
                                   round);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 6) {
        std::fprintf(stderr,
                     "usage: model_bench PACKAGE.pt2 cpu|cuda float|half SECONDS|ROUNDSxRUNS D0 [D1...]\n");
        return 2;
    }
    std::vector<std::int64_t> shape;
    for (int i = 5; i < argc; ++i)
        shape.push_back(std::atoll(argv[i]));
    try {
        bench::report(time_runs(argv[1], std::strcmp(argv[2], "cuda") == 0,
                                std::strcmp(argv[3], "half") == 0 ? at::kHalf : at::kFloat, argv[4], shape));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "model_bench: %s\n", error.what());
        return 1;
    }
    return 0;
}
