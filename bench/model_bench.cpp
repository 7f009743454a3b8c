// Time of one run of a package made by AOTInductor, in a C++ program on LibTorch. Knows nothing of the
// library.
//   model_bench PACKAGE.pt2 cpu|cuda float|half SECONDS D0 [D1...]
// D0, D1, ... is the shape of the one input. Runs about SECONDS in rounds that each end by waiting for the
// device; prints the median of the rounds.
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

double time_runs(const std::string& package, bool cuda, bool half, double seconds,
                 const std::vector<std::int64_t>& shape) {
    const c10::InferenceMode guard;
    torch::inductor::AOTIModelPackageLoader loader(package);
    at::Tensor input = at::randn(shape).to(half ? at::kHalf : at::kFloat);
    if (cuda) input = input.to(at::kCUDA);
    const int runs = cuda ? kRunsOnGpu : 1;
    const auto round = [&] {
        for (int i = 0; i < runs; ++i)
            loader.run({input});
        if (cuda) torch::cuda::synchronize();
    };
    // Clocks, caches and the allocator settle within a fifth of the time; what it took says how many rounds
    // fit.
    const bench::Clock::time_point start = bench::Clock::now();
    int warm_up = 0;
    do {
        round();
        ++warm_up;
    } while (bench::nanoseconds_since(start) < seconds / 5 * 1e9 || warm_up < 3);
    const double round_nanoseconds = bench::nanoseconds_since(start) / warm_up;
    const int rounds = std::max(5, static_cast<int>(seconds * 1e9 / round_nanoseconds));
    return bench::median_of_rounds(rounds, runs, round);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 6) {
        std::fprintf(stderr, "usage: model_bench PACKAGE.pt2 cpu|cuda float|half SECONDS D0 [D1...]\n");
        return 2;
    }
    std::vector<std::int64_t> shape;
    for (int i = 5; i < argc; ++i)
        shape.push_back(std::atoll(argv[i]));
    try {
        bench::report(time_runs(argv[1], std::strcmp(argv[2], "cuda") == 0, std::strcmp(argv[3], "half") == 0,
                                std::atof(argv[4]), shape));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "model_bench: %s\n", error.what());
        return 1;
    }
    return 0;
}
