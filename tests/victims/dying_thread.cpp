// dying_thread HOW MODEL: runs the model once, and says when it hears of a child, as it makes none. Then
//   exit, _exit  another thread stores to nowhere, and some milliseconds later the main thread ends with 0
//   fail         it ends with 3
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

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) return 2;
    std::signal(SIGCHLD, on_child);
    const victim::Torch torch;
    const victim::Model model(torch, argv[2]);
    victim::print("run", model.run());
    std::fflush(stdout);
    if (std::strcmp(argv[1], "fail") == 0) return 3;
    std::thread(die).detach();
    while (!g_dies)
        std::this_thread::yield();
    usleep(20'000);
    if (std::strcmp(argv[1], "_exit") == 0) _exit(0);
    return 0;
}
