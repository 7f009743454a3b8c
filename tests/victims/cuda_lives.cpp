// cuda_lives: runs a CUDA model through the lives of devices and processes. The output must depend only on
// the arguments.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "tests/victims/cuda_worker.hpp"

using victim::Worker;

// The arguments are one of
//   reset|destroy|release MODEL           three times: a context, the model in it, and the context's end;
//                                         each time with new weights and memory
//   reset_running|destroy_running MODEL   the context ends while the device still works
//   fork HOW MODEL CPU_MODEL              forks 6 children while a thread runs the model. They end by exit,
//                                         _exit, exec or abort, or run the CPU model first and then end by
//                                         exit (cpu), _exit (cpu_exit) or abort (cpu_abort)
//   shared MODEL                          runs on two streams with one input. The last run waits for the one
//                                         before it, whose stream fills the input with NaN
//   late stall|end N MODEL                N runs while standard error is a full pipe, which is read after
//                                         the last run (end) or after a run that blocks (stall)
namespace {

constexpr int kLives = 3;
constexpr int kChildren = 6;

CUcontext make_context(bool primary) {
    CUcontext context = nullptr;
    if (primary) {
        MUST(cuDevicePrimaryCtxRetain(&context, 0));
        MUST(cuCtxSetCurrent(context));
    } else {
        MUST(cuCtxCreate_v2(&context, 0, 0));
    }
    return context;
}

void end_context(const std::string& how, CUcontext context) {
    if (how == "destroy") {
        MUST(cuCtxDestroy_v2(context));
    } else if (how == "release") {
        MUST(cuDevicePrimaryCtxRelease_v2(0));
    } else {
        MUST(cuDevicePrimaryCtxReset_v2(0));
    }
    MUST(cuCtxSetCurrent(nullptr));
}

void live(const victim::Torch& torch, const std::string& how, const std::string& path) {
    const std::size_t mark = how.find("_running");
    const std::string end = how.substr(0, mark);
    for (int life = 0; life < kLives; ++life) {
        CUcontext context = make_context(end != "destroy");
        torch.forget_devices();
        victim::Model model(torch, path, 0, "cuda");
        std::string said = "nothing";
        {
            Worker worker(torch, model, life % 2 == 0 ? "nonblocking" : "legacy");
            for (int run = 0; run < 2; ++run) {
                worker.upload(life + run);
                worker.run();
                if (mark == std::string::npos) said = std::to_string(worker.fetch());
            }
            worker.forget_outputs();
            if (mark != std::string::npos) {
                end_context(end, context);
                worker.abandon();
            }
        }
        model.close();
        if (mark == std::string::npos) end_context(end, context);
        std::printf("life %d: %s\n", life, said.c_str());
    }
}

/// Runs in a child and returns its exit code.
int child(const std::string& how, const victim::Model& cpu_model, double expected) {
    if (how == "exec") {
        execl("/bin/true", "true", static_cast<char*>(nullptr));
        return 98;
    }
    if (how == "_exit") _exit(3);
    if (how == "abort") std::abort();
    if (how == "exit") return 3;
    const bool is_same = cpu_model.run().sum == expected;
    if (how == "cpu_exit") _exit(is_same ? 3 : 4);
    if (how == "cpu_abort") std::abort();
    return is_same ? 3 : 4;
}

void fork_while_running(const victim::Torch& torch, const std::string& how, const std::string& path,
                        const std::string& cpu_path) {
    CUcontext context = make_context(true);
    const victim::Model model(torch, path, 0, "cuda");
    const victim::Model cpu_model(torch, cpu_path);
    const double expected = cpu_model.run().sum;
    std::atomic<int> runs{0};
    std::atomic<bool> ends{false};
    std::uint64_t last = 0;
    std::thread runner([&] {
        MUST(cuCtxSetCurrent(context));
        Worker worker(torch, model, "nonblocking");
        while (!ends) {
            worker.upload(0);
            worker.run();
            last = worker.fetch();
            ++runs;
        }
        worker.forget_outputs();
    });
    for (int i = 0; i < kChildren; ++i) {
        for (const int before = runs; runs < before + 2;)
            std::this_thread::yield();
        std::fflush(stdout);
        const pid_t pid = fork();
        if (pid == 0) {
            const int code = child(how, cpu_model, expected);
            std::exit(code);
        }
        int status = 0;
        if (waitpid(pid, &status, 0) != pid) victim::give_up("waitpid");
        std::printf("child %d: %s %d\n", i, WIFEXITED(status) ? "exit" : "signal",
                    WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    }
    ends = true;
    runner.join();
    std::printf("the parent: %llx, then %a\n", static_cast<unsigned long long>(last),
                cpu_model.run().sum - expected);
}

void run_with_shared_input(const victim::Torch& torch, const std::string& path) {
    make_context(true);
    const victim::Model model(torch, path, 0, "cuda");
    Worker first(torch, model, "nonblocking");
    Worker second(torch, model, "nonblocking");
    first.upload(0);
    for (int run = 0; run < 2; ++run) {
        first.run();
        second.run_with(first.input());
    }
    MUST(cuCtxSynchronize());
    const auto nap = [](void* /*data*/) { std::this_thread::sleep_for(std::chrono::milliseconds(200)); };
    MUST(cuLaunchHostFunc(first.stream(), nap, nullptr));
    MUST(cuMemsetD32Async(first.input(), 0x7fc00000, victim::kInputBytes / sizeof(float), first.stream()));
    first.run();
    second.run_with(first.input());
    std::printf("the last run: %llx\n", static_cast<unsigned long long>(second.fetch()));
    first.forget_outputs();
    second.forget_outputs();
}

/// Makes standard error a pipe that fills soon and is read only after start().
class LatePipe {
  public:
    LatePipe() : behind_(dup(STDERR_FILENO)) {
        int ends[2];
        if (behind_ < 0 || pipe(ends) != 0 || dup2(ends[1], STDERR_FILENO) < 0) victim::give_up("pipe");
        close(ends[1]);
        reader_ = std::thread([this, from = ends[0]] {
            while (!starts_)
                std::this_thread::sleep_for(std::chrono::milliseconds(1));
            char text[65536];
            for (ssize_t bytes = 0; (bytes = read(from, text, sizeof text)) > 0;) {
                if (write(behind_, text, static_cast<size_t>(bytes)) != bytes) break;
            }
            close(from);
        });
    }
    LatePipe(const LatePipe&) = delete;
    LatePipe& operator=(const LatePipe&) = delete;
    /// Restores standard error.
    ~LatePipe() {
        dup2(behind_, STDERR_FILENO);
        reader_.join();
        close(behind_);
    }
    void start() { starts_ = true; }

  private:
    int behind_;
    std::atomic<bool> starts_{false};
    std::thread reader_;
};

void run_late(const victim::Torch& torch, bool until_stall, int runs, const std::string& path) {
    LatePipe late;
    make_context(true);
    const victim::Model model(torch, path, 0, "cuda");
    Worker worker(torch, model, "nonblocking");
    std::atomic<int> made{0};
    std::thread watcher([&] {
        // A worker without progress for this long is waiting for the reader.
        for (int before = -1; made < runs && !(until_stall && before == made);) {
            before = made;
            std::this_thread::sleep_for(std::chrono::milliseconds(500));
        }
        late.start();
    });
    for (int run = 0; run < runs; ++run) {
        worker.upload(run);
        worker.run();
        ++made;
    }
    watcher.join();
    std::printf("%d runs, then %llx\n", runs, static_cast<unsigned long long>(worker.fetch()));
    worker.forget_outputs();
}

}  // namespace

int main(int argc, char** argv) {
    const std::string mode = argc < 3 ? "" : argv[1];
    const victim::Torch torch;
    MUST(cuInit(0));
    if (mode == "fork" && argc == 5) {
        fork_while_running(torch, argv[2], argv[3], argv[4]);
    } else if (mode == "late" && argc == 5) {
        run_late(torch, argv[2] == std::string("stall"), std::stoi(argv[3]), argv[4]);
    } else if (mode == "shared" && argc == 3) {
        run_with_shared_input(torch, argv[2]);
    } else if (argc == 3) {
        live(torch, mode, argv[2]);
    } else {
        return 2;
    }
    return 0;
}
