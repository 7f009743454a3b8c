// closed_stderr WHEN FD FILE MODEL: checks that the library never writes to a file that reuses descriptor FD
// (0, 1 or 2). It closes FD, before an exec of itself (WHEN exec) or just then (late). It opens FILE, which
// gets that number, and runs the model. It exits with 0 if FILE has only its own bytes, and with 3 otherwise.
#include <fcntl.h>
#include <unistd.h>

#include <cstring>

#include "tests/victims/model_user.hpp"

int main(int argc, char** argv) {
    if (argc < 5) return 2;
    const std::string when = argv[1];
    const int number = std::atoi(argv[2]);
    if (when == "exec") {
        close(number);
        char now[] = "now";
        argv[1] = now;
        execv("/proc/self/exe", argv);
        return 98;
    }
    if (when == "late") close(number);
    const int data = open(argv[3], O_RDWR | O_CREAT | O_TRUNC, 0600);
    if (data != number) return 4;
    constexpr char kOwn[] = "own bytes\n";
    if (write(data, kOwn, sizeof kOwn - 1) != sizeof kOwn - 1) return 5;
    bool ran = false;
    {
        const victim::Torch torch;
        const victim::Model model(torch, argv[4]);
        ran = model.run().code == 0 && model.run().code == 0;
    }
    if (write(data, kOwn, sizeof kOwn - 1) != sizeof kOwn - 1) return 5;
    char text[4096];
    const ssize_t length = pread(data, text, sizeof text, 0);
    const bool own = length == 2 * (sizeof kOwn - 1) && std::memcmp(text, kOwn, sizeof kOwn - 1) == 0;
    _exit(!ran ? 6 : own ? 0 : 3);
}
