// dying_thread HOW MODEL: runs the model once, and says when it hears of a child, as it makes none. Then
//   exit, _exit  another thread stores to nowhere, and some milliseconds later the main thread ends with 0
//   fail         it ends with 3
//   signalled    it dies while all of its group are sent a signal that it handles, and that it alone may
//   handle
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "tests/victims/model_user.hpp"

namespace {

std::atomic<bool> g_dies{false};

void die() {
    g_dies = true;
    volatile int* volatile nowhere = nullptr;
    *nowhere = 1;  // NOLINT(clang-analyzer-core.NullDereference): that is the point
}

void on_child(int /*signal*/) {
    constexpr char kSaid[] = "a child\n";
    if (write(STDOUT_FILENO, kSaid, sizeof kSaid - 1) < 0) abort();
}

pid_t g_self = 0;

void on_user(int /*signal*/) {
    constexpr char kSaid[] = "handled elsewhere\n";
    if (getpid() != g_self && write(STDOUT_FILENO, kSaid, sizeof kSaid - 1) < 0) abort();
}

/// From a process of its own, as long as this one is there.
void signal_group() {
    g_self = getpid();
    setpgid(0, 0);
    std::signal(SIGUSR1, on_user);
    if (fork() != 0) return;
    std::signal(SIGUSR1, SIG_IGN);
    while (getppid() == g_self) {
        kill(0, SIGUSR1);
        usleep(100);
    }
    _exit(0);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    std::signal(SIGCHLD, on_child);
    const victim::Torch torch;
    const victim::Model model(torch, argv[2]);
    victim::print("run", model.run());
    std::fflush(stdout);
    if (std::strcmp(argv[1], "fail") == 0) return 3;
    if (std::strcmp(argv[1], "signalled") == 0) {
        std::signal(SIGCHLD, SIG_DFL);
        signal_group();
        usleep(5'000);
        die();
    }
    std::thread(die).detach();
    while (!g_dies)
        std::this_thread::yield();
    usleep(20'000);
    if (std::strcmp(argv[1], "_exit") == 0) _exit(0);
    return 0;
}
