// Opens models like PyTorch's loader, runs them and prints the results, which must depend only on the
// arguments.
//   model_host [--runs N] [--pace MS] [--threads T] [--deepbind] [--local-torch] [--two-runners] [--reload K]
//              [--weights] [--throw] [--then-sleep near|deep] [--then-fault|--then-exit] [--error]
//              [--exit STATUS] [--single] [--then OTHER] [--quiet] [--cuda] [--handle-segv] MODEL [MODEL2]
#include <unistd.h>
#include <csignal>
#include <exception>
#include <memory>
#include <thread>
#include <vector>

#include "tests/victims/model_user.hpp"

namespace {

constexpr useconds_t kSleep = 3'500'000;  // longer than any watchdog of the tests waits

struct Arguments {
    int runs = 1;
    int threads = 0;
    int flags = 0;
    int torch_scope = RTLD_GLOBAL;
    int reload = 0;
    int pace = 0;  // milliseconds after each run
    bool two_runners = false;
    bool throws = false;
    std::string sleeps;   // after a run that an exception unwound
    bool faults = false;  // also after such a run
    bool exits = false;   // also after such a run, by _exit(5)
    bool error = false;
    bool single = false;
    bool weights = false;
    bool quiet = false;
    bool cuda = false;
    bool handle_segv = false;
    int status = 0;
    std::string then;
    std::vector<std::string> models;
};

Arguments read(int argc, char** argv) {
    Arguments all;
    for (int i = 1; i < argc; ++i) {
        const std::string argument = argv[i];
        const auto next = [&] { return i + 1 < argc ? argv[++i] : "0"; };
        if (argument == "--runs")
            all.runs = std::atoi(next());
        else if (argument == "--threads")
            all.threads = std::atoi(next());
        else if (argument == "--exit")
            all.status = std::atoi(next());
        else if (argument == "--reload")
            all.reload = std::atoi(next());
        else if (argument == "--pace")
            all.pace = std::atoi(next());
        else if (argument == "--then")
            all.then = next();
        else if (argument == "--deepbind")
            all.flags = RTLD_DEEPBIND;
        else if (argument == "--local-torch")
            all.torch_scope = RTLD_LOCAL;
        else if (argument == "--two-runners")
            all.two_runners = true;
        else if (argument == "--throw")
            all.throws = true;
        else if (argument == "--then-sleep")
            all.sleeps = next();
        else if (argument == "--then-fault")
            all.faults = true;
        else if (argument == "--then-exit")
            all.exits = true;
        else if (argument == "--error")
            all.error = true;
        else if (argument == "--single")
            all.single = true;
        else if (argument == "--weights")
            all.weights = true;
        else if (argument == "--quiet")
            all.quiet = true;
        else if (argument == "--cuda")
            all.cuda = true;
        else if (argument == "--handle-segv")
            all.handle_segv = true;
        else
            all.models.push_back(argument);
    }
    return all;
}

/// Makes the primary context current, as libtorch does before a model loads.
void start_cuda() {
    void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (driver == nullptr) victim::give_up("libcuda.so.1");
    int (*init)(unsigned) = nullptr;
    int (*retain)(void**, int) = nullptr;
    int (*set_current)(void*) = nullptr;
    victim::Torch::find(driver, "cuInit", init);
    victim::Torch::find(driver, "cuDevicePrimaryCtxRetain", retain);
    victim::Torch::find(driver, "cuCtxSetCurrent", set_current);
    void* context = nullptr;
    const int initialised = init(0);
    const int retained = retain(&context, 0);
    std::printf("driver: %d %d %d\n", initialised, retained, set_current(context));
}

/// Runs the model `depth` stack frames deeper.
[[gnu::noinline]] victim::Result run_deep(const victim::Model& model, int depth) {
    volatile char room[512];
    // Overwrites the whole frame, so that no old contents remain anywhere in it.
    for (volatile char& byte : room)
        byte = static_cast<char>(depth);
    victim::Result result = depth == 0 ? model.run() : run_deep(model, depth - 1);
    result.errno_after += room[0] - static_cast<char>(depth);
    return result;
}

[[gnu::noinline]] void sleep_deep(int depth) {
    volatile char room[512];
    for (volatile char& byte : room)
        byte = static_cast<char>(depth);
    if (depth == 0) {
        usleep(kSleep);
    } else {
        sleep_deep(depth - 1);
    }
    if (room[0] != static_cast<char>(depth)) abort();
}

[[gnu::noinline]] void run_that_throws(const victim::Model& model) {
    try {
        victim::print("throwing run", model.run(kThrowAt));
    } catch (const std::exception& error) {
        std::printf("caught: %s\n", error.what());
    }
}

void runs_that_fail(const Arguments& all, const victim::Model& model) {
    if (all.throws) {
        run_that_throws(model);
        if (all.sleeps == "near") usleep(kSleep);
        if (all.sleeps == "deep") sleep_deep(20);
        std::fflush(stdout);
        if (all.exits) _exit(5);
        volatile int* volatile nowhere = nullptr;
        if (all.faults) *nowhere = 1;  // NOLINT(clang-analyzer-core.NullDereference): the crash is intended
        victim::print("run from deeper", run_deep(model, 20));
    }
    if (all.error) victim::print("failing run", model.run(kFailAt));
}

void run_all(const Arguments& all, const std::vector<std::unique_ptr<victim::Model>>& models) {
    for (size_t m = 0; m < models.size(); ++m) {
        const victim::Model& model = *models[m];
        runs_that_fail(all, model);
        for (int i = 0; i < all.runs; ++i) {
            const victim::Result result = all.single ? model.run_single() : model.run();
            if (!all.quiet || i + 1 == all.runs)
                victim::print(("model " + std::to_string(m) + " run").c_str(), result);
            if (all.pace > 0) usleep(static_cast<useconds_t>(all.pace) * 1000);
        }
        if (all.weights) {
            std::printf("new weights: %d\n", model.new_weights());
            victim::print("run with them", model.run());
        }
    }
}

void run_in_threads(const Arguments& all, const std::vector<std::unique_ptr<victim::Model>>& models) {
    std::vector<double> sums(static_cast<size_t>(all.threads), 0);
    std::vector<std::thread> threads;
    for (size_t t = 0; t < sums.size(); ++t) {
        threads.emplace_back([&all, &models, &sums, t] {
            for (int i = 0; i < all.runs; ++i)
                sums[t] += models[t % models.size()]->run().sum;
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    for (size_t t = 0; t < sums.size(); ++t)
        std::printf("thread %zu: sum %a\n", t, sums[t]);
}

void on_segv(int /*signal*/) {
    _exit(42);
}

}  // namespace

int main(int argc, char** argv) {
    const Arguments all = read(argc, argv);
    if (all.handle_segv) std::signal(SIGSEGV, on_segv);
    const victim::Torch torch(all.torch_scope);
    if (all.cuda) start_cuda();
    const char* device = all.cuda ? "cuda" : "cpu";
    for (int round = 0; round <= all.reload; ++round) {
        std::vector<std::unique_ptr<victim::Model>> models;
        for (const std::string& path : all.models)
            models.push_back(std::make_unique<victim::Model>(torch, path, all.flags, device));
        if (all.two_runners)
            models.push_back(std::make_unique<victim::Model>(torch, all.models.front(), all.flags, device));
        if (all.threads > 0) {
            run_in_threads(all, models);
        } else {
            run_all(all, models);
        }
    }
    if (!all.then.empty()) {
        const victim::Model other(torch, all.then, all.flags, device);
        victim::print("the other model", other.run());
    }
    std::printf("calls %llu\n", static_cast<unsigned long long>(torch.calls()));
    return all.status;
}
