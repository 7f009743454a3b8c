// Times one run of an AOTInductor package in a C++ program on LibTorch. It must not use the library.
//   model_bench PACKAGE.pt2 cpu|cuda float|half LENGTH D0 [D1...]
// D0, D1, ... is the input's shape. LENGTH is seconds, or ROUNDSxRUNS where each run leaves much behind. A
// round ends with a device synchronization, and the program prints the median. each:RUNS gives each run its
// own input without warm-up and prints the start time. apart:RUNS also gives each run its own directory.
#include <ATen/ops/randn.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>
#include <torch/cuda.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <string>
#include <vector>

#include "bench/timing.hpp"

namespace {

// About 10 ms per round on a GPU: long compared with the final wait, and short enough for hundreds of rounds.
constexpr int kRunsOnGpu = 20;

struct Model {
    torch::inductor::AOTIModelPackageLoader loader;
    bool cuda;
    at::ScalarType type;
    std::vector<std::int64_t> shape;

    [[nodiscard]] at::Tensor input() const {
        return at::randn(shape, at::device(cuda ? at::kCUDA : at::kCPU).dtype(type));
    }
};

void run_each_once(Model& model, int runs, bool apart) {
    std::vector<at::Tensor> inputs;
    std::vector<std::filesystem::path> folders(static_cast<std::size_t>(runs));
    for (std::size_t i = 0; i < folders.size(); ++i) {
        inputs.push_back(model.input());
        folders[i] = std::filesystem::absolute(apart ? "run" + std::to_string(i) : ".");
        // PyTorch's printer requires this directory.
        std::filesystem::create_directories(folders[i] / "tmp" / "aoti_torch");
    }
    if (model.cuda) torch::cuda::synchronize();
    bench::report_start();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        std::filesystem::current_path(folders[i]);
        model.loader.run({inputs[i]});
    }
    if (model.cuda) torch::cuda::synchronize();
}

double time_runs(Model& model, const char* length) {
    const bool cuda = model.cuda;
    const at::Tensor input = model.input();
    int runs = cuda ? kRunsOnGpu : 1;
    int rounds = 0;
    const bool is_counted = std::sscanf(length, "%dx%d", &rounds, &runs) == 2;
    const auto round = [&] {
        for (int i = 0; i < runs; ++i)
            model.loader.run({input});
        if (cuda) torch::cuda::synchronize();
    };
    if (is_counted) {
        round();
        round();
        return bench::median_of_rounds(rounds, runs, round);
    }
    // Clocks, caches and the allocator settle within a fifth of the time. That part also shows how many
    // rounds fit.
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
                     "usage: model_bench PACKAGE.pt2 cpu|cuda float|half "
                     "SECONDS|ROUNDSxRUNS|each:RUNS|apart:RUNS D0 [D1...]\n");
        return 2;
    }
    std::vector<std::int64_t> shape;
    for (int i = 5; i < argc; ++i)
        shape.push_back(std::atoll(argv[i]));
    try {
        const c10::InferenceMode guard;
        Model model{torch::inductor::AOTIModelPackageLoader(argv[1]), std::strcmp(argv[2], "cuda") == 0,
                    std::strcmp(argv[3], "half") == 0 ? at::kHalf : at::kFloat, shape};
        int runs = 0;
        const bool apart = std::sscanf(argv[4], "apart:%d", &runs) == 1;
        if (apart || std::sscanf(argv[4], "each:%d", &runs) == 1)
            run_each_once(model, runs, apart);
        else
            bench::report(time_runs(model, argv[4]));
    } catch (const std::exception& error) {
        std::fprintf(stderr, "model_bench: %s\n", error.what());
        return 1;
    }
    return 0;
}
