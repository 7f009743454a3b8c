// dying_thread HOW MODEL: runs the model once, and reports SIGCHLD, which it never causes. HOW is
//   exit, _exit  another thread stores to an unmapped address, and the main thread exits with 0 some ms later
//   fail         it exits with 3
//   signalled    it crashes while its process group gets a signal that only it may handle
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
    *nowhere = 1;  // NOLINT(clang-analyzer-core.NullDereference): the crash is intended
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

/// Signals the group from another process for as long as this one exists.
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
