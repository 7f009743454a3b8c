// fork_victim MODE MODEL: forks while a model runs. MODE is
//   fork_while_running  a thread runs the model 200 times, the main thread forks 8 children that end at once
//   child_runs          the same, and each child runs the model and calls exit
//   fork_in_thread      each of 4 threads runs, forks a child that runs and calls _exit, and runs again
//   vfork_exec          vfork and exec of this program, which runs the model once
//   os_exit             a run, then _exit(5)
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

#include "tests/victims/model_user.hpp"

namespace {

constexpr int kRuns = 200;
constexpr int kChildren = 8;

int exit_code_of(pid_t child) {
    int status = 0;
    if (waitpid(child, &status, 0) != child) return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

void fork_while_running(const victim::Model& model, bool child_runs) {
    const double expected = model.run().sum;
    std::atomic<int> done{0};
    std::atomic<bool> same{true};
    std::thread runner([&] {
        for (int i = 0; i < kRuns; ++i) {
            if (model.run().sum != expected) same = false;
            done.fetch_add(1);
        }
    });
    int bad = 0;
    for (int i = 0; i < kChildren; ++i) {
        while (done.load() < i * kRuns / kChildren)
            std::this_thread::yield();
        std::fflush(stdout);
        const pid_t child = fork();
        if (child == 0) {
            if (!child_runs) _exit(0);
            std::exit(model.run().sum == expected ? 0 : 1);
        }
        if (exit_code_of(child) != 0) ++bad;
    }
    runner.join();
    std::printf("bad children %d, results %s\n", bad, same ? "same" : "differ");
}

void fork_in_thread(const victim::Model& model) {
    const double expected = model.run().sum;
    std::atomic<int> bad{0};
    std::vector<std::thread> threads;
    threads.reserve(4);
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            bool same = model.run().sum == expected;
            const pid_t child = fork();
            if (child == 0) _exit(model.run().sum == expected ? 0 : 1);
            same = exit_code_of(child) == 0 && model.run().sum == expected && same;
            if (!same) bad.fetch_add(1);
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    std::printf("bad threads %d\n", bad.load());
}

void vfork_exec(const victim::Model& model, const char* path) {
    victim::print("before", model.run());
    std::fflush(stdout);
    const pid_t child = vfork();  // NOLINT(clang-analyzer-security.insecureAPI.vfork): under test
    if (child == 0) {
        execl("/proc/self/exe", "fork_victim", "one_run", path, static_cast<char*>(nullptr));
        _exit(98);
    }
    std::printf("child %d\n", exit_code_of(child));
    victim::print("after", model.run());
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 3) return 2;
    const std::string mode = argv[1];
    const victim::Torch torch;
    const victim::Model model(torch, argv[2]);
    if (mode == "fork_while_running") fork_while_running(model, false);
    if (mode == "child_runs") fork_while_running(model, true);
    if (mode == "fork_in_thread") fork_in_thread(model);
    if (mode == "vfork_exec") vfork_exec(model, argv[2]);
    if (mode == "one_run" || mode == "os_exit") victim::print("run", model.run());
    std::fflush(stdout);
    if (mode == "os_exit") _exit(5);
    return 0;
}
