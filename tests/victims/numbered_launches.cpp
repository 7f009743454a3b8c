// numbered_launches LAUNCHES STREAMS THREADS [NAMES]: launches kernels with NAMES (default 5) names, cycling
// through names, streams and threads. Launch i, from 0, is of kernel_<i % names>. Fills and copies of several
// sizes run in between. Halfway, a graph of three of the launches is replayed.
#include <condition_variable>
#include <iterator>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "tests/victims/five_kernels.hpp"

namespace {

constexpr int kInGraph = 3;
constexpr std::size_t kBytes = 1 << 18;

// The smaller sizes use no kernel, the larger ones do.
constexpr std::size_t kFills[] = {64, 4096, 8192, 16384, kBytes};
constexpr std::size_t kCopies[] = {4, 4096, 16384, kBytes};

struct Stage {
    CUcontext context = nullptr;
    std::array<CUfunction, victim::kNames> kernels{};
    int names = victim::kNames;
    std::vector<CUstream> streams;
    CUdeviceptr one = 0;
    CUdeviceptr other = 0;
    char host[64] = {};
};

/// Ignores the result, because after a fault every call fails sooner or later.
void launch(const Stage& stage, int number, CUstream stream) {
    static_cast<void>(cuLaunchKernel(stage.kernels[static_cast<std::size_t>(number % stage.names)], 1, 1, 1,
                                     1, 1, 1, 0, stream, nullptr, nullptr));
}

void fill_or_copy(Stage& stage, int number, CUstream stream) {
    const auto turn = static_cast<std::size_t>(number);
    const std::size_t filled = kFills[turn / 3 % std::size(kFills)];
    const std::size_t copied = kCopies[turn / 5 % std::size(kCopies)];
    if (number % 3 == 0) static_cast<void>(cuMemsetD8Async(stage.one, 1, filled, stream));
    if (number % 6 == 1)
        static_cast<void>(cuMemsetD2D32Async(stage.other, 512, 7, 100, filled / 512 + 1, stream));
    if (number % 5 == 0) static_cast<void>(cuMemcpyDtoDAsync_v2(stage.other, stage.one, copied, stream));
    if (number % 7 == 0)
        static_cast<void>(cuMemcpyHtoDAsync_v2(stage.one, stage.host, sizeof stage.host, stream));
}

void launch_graph(const Stage& stage, int first, CUstream stream) {
    CUgraph graph = nullptr;
    CUgraphExec executable = nullptr;
    if (cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) != CUDA_SUCCESS) return;
    for (int i = 0; i < kInGraph; ++i)
        launch(stage, first + i, stream);
    if (cuStreamEndCapture(stream, &graph) != CUDA_SUCCESS) return;
    if (cuGraphInstantiateWithFlags(&executable, graph, 0) != CUDA_SUCCESS) return;
    for (int i = 0; i < 3; ++i)
        static_cast<void>(cuGraphLaunch(executable, stream));
}

/// Makes the threads take turns, so that each launch's number is known.
class Turns {
  public:
    void take(int number, const auto& work) {
        std::unique_lock lock(mutex_);
        comes_.wait(lock, [&] { return next_ == number; });
        work();
        ++next_;
        comes_.notify_all();
    }

  private:
    std::mutex mutex_;
    std::condition_variable comes_;
    int next_ = 0;
};

void launch_all(Stage& stage, Turns& turns, int launches, int thread, int threads) {
    victim::must(cuCtxSetCurrent(stage.context), "cuCtxSetCurrent");
    const int graph = launches / 2;
    for (int i = thread; i < launches; i += threads) {
        turns.take(i, [&] {
            CUstream stream = stage.streams[static_cast<std::size_t>(i) % stage.streams.size()];
            if (i == graph) return launch_graph(stage, i, stream);
            if (i > graph && i < graph + kInGraph) return;
            launch(stage, i, stream);
            fill_or_copy(stage, i, stream);
        });
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 4) return 2;
    const int launches = std::atoi(argv[1]);
    const int threads = std::atoi(argv[3]);
    Stage stage;
    if (argc > 4) stage.names = std::atoi(argv[4]);
    victim::must(cuInit(0), "cuInit");
    victim::must(cuDevicePrimaryCtxRetain(&stage.context, 0), "cuDevicePrimaryCtxRetain");
    victim::must(cuCtxSetCurrent(stage.context), "cuCtxSetCurrent");
    stage.kernels = victim::load_five_kernels();
    stage.streams.resize(static_cast<std::size_t>(std::atoi(argv[2])));
    for (CUstream& stream : stage.streams)
        victim::must(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    victim::must(cuMemAlloc_v2(&stage.one, 2 * kBytes), "cuMemAlloc");
    victim::must(cuMemAlloc_v2(&stage.other, 2 * kBytes), "cuMemAlloc");
    Turns turns;
    std::vector<std::thread> others;
    for (int thread = 1; thread < threads; ++thread)
        others.emplace_back([&, thread] { launch_all(stage, turns, launches, thread, threads); });
    launch_all(stage, turns, launches, 0, threads);
    for (std::thread& other : others)
        other.join();
    std::printf("end: %d\n", static_cast<int>(cuCtxSynchronize()));
    return 0;
}
