// interrupted SIGINT END RUNS MODEL: runs a model with its own disposition for SIGINT, and exits with 5.
//   SIGINT  default, handled, ignored, or blocked
//   END     return, _exit, key (after a byte from standard input), or handler (_exit in its SIGINT handler)
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <string_view>

#include "tests/victims/model_user.hpp"

namespace {

constexpr int kExitCode = 5;

void say(std::string_view text) {
    if (write(STDOUT_FILENO, text.data(), text.size()) < 0) std::abort();
}

void handle(int /*signal*/) {
    say("the program's handler has it\n");
}

void leave(int /*signal*/) {
    _exit(kExitCode);
}

void prepare(std::string_view how, std::string_view end) {
    if (how == "handled") std::signal(SIGINT, end == "handler" ? leave : handle);
    if (how == "ignored") std::signal(SIGINT, SIG_IGN);
    if (how != "blocked") return;
    sigset_t interrupt;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    sigprocmask(SIG_BLOCK, &interrupt, nullptr);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 5) return 2;
    const std::string_view end = argv[2];
    prepare(argv[1], end);
    const victim::Torch torch;
    const victim::Model model(torch, argv[4]);
    double sum = 0;
    for (int i = std::atoi(argv[3]); i > 0; --i)
        sum += model.run().sum;
    std::printf("sum %a\n", sum);
    std::fflush(stdout);
    char key = 0;
    if (end == "key" && read(STDIN_FILENO, &key, 1) != 1) return 3;
    if (end == "handler") {
        if (write(STDERR_FILENO, "ready\n", 6) < 0) return 4;
        while (true)
            pause();
    }
    if (end == "_exit") _exit(kExitCode);
    return kExitCode;
}
