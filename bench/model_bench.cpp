// Times one run of an AOTInductor package in a C++ program on LibTorch. It must not use the library.
//   model_bench PACKAGE.pt2 cpu|cuda float|half|tokens LENGTH D0 [D1...]
// D0, D1, ... is the input's shape. LENGTH is seconds, or ROUNDSxRUNS where each run leaves much behind. A
// round ends with a device synchronization, and the program prints the median. turns:FD:ROUNDSxRUNS writes
// 0 to FD when it is ready, and then the mean of a turn for each line on standard input. each:RUNS gives each
// run its own input without warm-up and prints the start time. apart:RUNS also gives each run its own
// directory.
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>
#include <torch/cuda.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/timing.hpp"

namespace {

// About 10 ms per round on a GPU: long compared with the final wait, and short enough for hundreds of rounds.
constexpr int kRunsOnGpu = 20;
// Any vocabulary has as many.
constexpr std::int64_t kTokens = 1000;

struct Model {
    torch::inductor::AOTIModelPackageLoader loader;
    bool cuda;
    at::ScalarType type;
    std::vector<std::int64_t> shape;

    [[nodiscard]] at::Tensor input() const {
        const at::TensorOptions options = at::device(cuda ? at::kCUDA : at::kCPU).dtype(type);
        return type == at::kLong ? at::randint(0, kTokens, shape, options) : at::randn(shape, options);
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

at::ScalarType type_named(const char* name) {
    if (std::strcmp(name, "tokens") == 0) return at::kLong;
    return std::strcmp(name, "half") == 0 ? at::kHalf : at::kFloat;
}

/// Measures once for each line on standard input. The first half of the rounds fills the library's queues, as
/// in a program that runs for long, and does not count. Queues make the rest uneven, so its mean counts.
template <typename Round>
void take_turns(int answers, int rounds, int runs, Round round) {
    const int counted = rounds - rounds / 2;
    for (double mean = 0; dprintf(answers, "%.2f\n", mean) > 0 && std::getchar() != EOF;) {
        for (int i = counted; i < rounds; ++i)
            round();
        const bench::Clock::time_point start = bench::Clock::now();
        for (int i = 0; i < counted; ++i)
            round();
        mean = bench::nanoseconds_since(start) / counted / runs;
    }
}

void time_runs(Model& model, const char* length) {
    const bool cuda = model.cuda;
    const at::Tensor input = model.input();
    int runs = cuda ? kRunsOnGpu : 1;
    int rounds = 0;
    int answers = -1;
    const auto round = [&] {
        for (int i = 0; i < runs; ++i)
            model.loader.run({input});
        if (cuda) torch::cuda::synchronize();
    };
    if (std::sscanf(length, "turns:%d:%dx%d", &answers, &rounds, &runs) == 3) {
        take_turns(answers, rounds, runs, round);
        return;
    }
    if (std::sscanf(length, "%dx%d", &rounds, &runs) == 2) {
        round();
        round();
        bench::report(bench::median_of_rounds(rounds, runs, round));
        return;
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
    const int fitting = std::max(5, static_cast<int>(seconds * 1e9 / round_nanoseconds));
    bench::report(bench::median_of_rounds(fitting, runs, round));
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 6) {
        std::fprintf(stderr,
                     "usage: model_bench PACKAGE.pt2 cpu|cuda float|half|tokens "
                     "SECONDS|ROUNDSxRUNS|turns:FD:ROUNDSxRUNS|each:RUNS|apart:RUNS D0 [D1...]\n");
        return 2;
    }
    std::vector<std::int64_t> shape;
    for (int i = 5; i < argc; ++i)
        shape.push_back(std::atoll(argv[i]));
    try {
        const c10::InferenceMode guard;
        Model model{torch::inductor::AOTIModelPackageLoader(argv[1]), std::strcmp(argv[2], "cuda") == 0,
                    type_named(argv[3]), shape};
        int runs = 0;
        const bool apart = std::sscanf(argv[4], "apart:%d", &runs) == 1;
        if (apart || std::sscanf(argv[4], "each:%d", &runs) == 1)
            run_each_once(model, runs, apart);
        else
            time_runs(model, argv[4]);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "model_bench: %s\n", error.what());
        return 1;
    }
    return 0;
}
