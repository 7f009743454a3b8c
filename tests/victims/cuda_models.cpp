// Runs CUDA models like a serving program: threads run models at once, each on its own stream.
//   cuda_models [--runs N] [--negative N] [--streams a,b,...] [--threads T] [--weights] [--capture]
//               [--context] MODEL...
// Thread t runs model t modulo their number, on the next of the streams legacy, blocking, nonblocking,
// per_thread. --capture: thread 0 captures a run in global mode while the others run, and launches it three
// times. --negative: only every Nth run has negative inputs, from run 1 on; 0: none. --context: destroys the
// context at exit. The output must depend only on the arguments.
#include <atomic>
#include <memory>
#include <sstream>
#include <thread>
#include <vector>

#include "tests/victims/cuda_worker.hpp"

using victim::Worker;

namespace {

/// Runs of each other thread while the first one captures.
constexpr int kRunsBesideCapture = 5;

struct Arguments {
    int runs = 1;
    int negative = 1;
    int threads = 1;
    bool weights = false;
    bool capture = false;
    bool context = false;
    std::vector<std::string> streams;
    std::vector<std::string> models;
};

Arguments read(int argc, char** argv) {
    Arguments all;
    for (int i = 1; i < argc; ++i) {
        const std::string argument = argv[i];
        const auto next = [&] { return std::string(i + 1 < argc ? argv[++i] : "0"); };
        if (argument == "--runs") {
            all.runs = std::stoi(next());
        } else if (argument == "--negative") {
            all.negative = std::stoi(next());
        } else if (argument == "--threads") {
            all.threads = std::stoi(next());
        } else if (argument == "--streams") {
            std::istringstream words(next());
            for (std::string word; std::getline(words, word, ',');)
                all.streams.push_back(word);
        } else if (argument == "--weights") {
            all.weights = true;
        } else if (argument == "--capture") {
            all.capture = true;
        } else if (argument == "--context") {
            all.context = true;
        } else {
            all.models.push_back(argument);
        }
    }
    if (all.streams.empty()) all.streams = {"legacy"};
    return all;
}

/// Synchronizes the threads of --capture.
struct Rendezvous {
    std::atomic<int> ready{0};
    std::atomic<bool> captures{false};
    std::atomic<int> done{0};

    static void wait_until(const std::atomic<int>& value, int least) {
        while (value < least)
            std::this_thread::yield();
    }
};

std::string capture(Worker& worker, Rendezvous& rendezvous, int others) {
    worker.run(true);  // loads everything and allocates every block
    worker.fetch();
    Rendezvous::wait_until(rendezvous.ready, others);
    CUgraph graph = nullptr;
    CUgraphExec executable = nullptr;
    worker.forget_outputs();
    MUST(cuStreamBeginCapture_v2(worker.stream(), CU_STREAM_CAPTURE_MODE_GLOBAL));
    rendezvous.captures = true;
    worker.run(true);
    Rendezvous::wait_until(rendezvous.done, others);
    const CUresult ended = cuStreamEndCapture(worker.stream(), &graph);
    rendezvous.captures = false;
    if (ended != CUDA_SUCCESS) return "the capture failed with " + std::to_string(ended);
    std::size_t nodes = 0;
    MUST(cuGraphGetNodes(graph, nullptr, &nodes));
    MUST(cuGraphInstantiateWithFlags(&executable, graph, 0));
    for (int i = 0; i < 3; ++i) {
        worker.upload(i);
        MUST(cuGraphLaunch(executable, worker.stream()));
    }
    std::ostringstream said;
    said << nodes << " nodes, " << std::hex << worker.fetch();
    MUST(cuGraphExecDestroy(executable));
    MUST(cuGraphDestroy(graph));
    return said.str();
}

std::string run_beside_capture(Worker& worker, Rendezvous& rendezvous) {
    worker.run(true);
    worker.fetch();
    ++rendezvous.ready;
    while (!rendezvous.captures)
        std::this_thread::yield();
    // Nothing here may be unsafe during a capture: no waits, and no copies that wait.
    for (int i = 0; i < kRunsBesideCapture; ++i)
        worker.run(true);
    ++rendezvous.done;
    while (rendezvous.captures)
        std::this_thread::yield();
    std::ostringstream said;
    said << std::hex << worker.fetch();
    return said.str();
}

std::string run_freely(Worker& worker, const Arguments& all) {
    std::ostringstream said;
    for (int i = 0; i < all.runs; ++i) {
        worker.upload(i, all.negative == 1 || (all.negative != 0 && i % all.negative == 1));
        worker.run();
        if (i + 1 == all.runs || i % 3 == 0) said << std::hex << worker.fetch() << ' ';
    }
    return said.str();
}

}  // namespace

int main(int argc, char** argv) {
    const Arguments all = read(argc, argv);
    const victim::Torch torch;
    CUcontext context = nullptr;
    MUST(cuInit(0));
    MUST(cuDevicePrimaryCtxRetain(&context, 0));
    MUST(cuCtxSetCurrent(context));
    std::vector<std::unique_ptr<victim::Model>> models;
    for (const std::string& path : all.models)
        models.push_back(std::make_unique<victim::Model>(torch, path, 0, "cuda"));

    Rendezvous rendezvous;
    std::vector<std::string> said(static_cast<size_t>(all.threads));
    const auto one_thread = [&](size_t t) {
        MUST(cuCtxSetCurrent(context));
        Worker worker(torch, *models[t % models.size()], all.streams[t % all.streams.size()]);
        worker.upload(0);
        if (!all.capture) {
            said[t] = run_freely(worker, all);
        } else if (t == 0) {
            said[t] = capture(worker, rendezvous, all.threads - 1);
        } else {
            said[t] = run_beside_capture(worker, rendezvous);
        }
        worker.forget_outputs();
    };
    if (all.threads == 1) {
        one_thread(0);
    } else {
        std::vector<std::thread> threads;
        for (size_t t = 0; t < said.size(); ++t)
            threads.emplace_back(one_thread, t);
        for (std::thread& thread : threads)
            thread.join();
    }
    for (size_t t = 0; t < said.size(); ++t)
        std::printf("thread %zu: %s\n", t, said[t].c_str());
    if (all.weights) {
        std::printf("new weights: %d\n", models[0]->new_weights());
        Worker worker(torch, *models[0], all.streams[0]);
        std::printf("with them: %s\n", run_freely(worker, all).c_str());
        worker.forget_outputs();
    }
    models.clear();
    MUST(cuCtxSynchronize());
    if (all.context) MUST(cuDevicePrimaryCtxReset_v2(0));
    CUcontext current = nullptr;
    MUST(cuCtxGetCurrent(&current));
    std::printf("the context is current: %d\n", current == context || all.context ? 1 : 0);
    return 0;
}
