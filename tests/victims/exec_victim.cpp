// exec_victim MODEL: runs the model, replaces itself by execv, and runs it again.
#include <unistd.h>

#include "tests/victims/model_user.hpp"

int main(int argc, char** argv) {
    if (argc < 2) return 2;
    const victim::Torch torch;
    const victim::Model model(torch, argv[1]);
    victim::print(argc == 2 ? "first" : "second", model.run());
    std::fflush(stdout);
    if (argc > 2) return 0;
    char again[] = "again";
    char* arguments[] = {argv[0], argv[1], again, nullptr};
    execv("/proc/self/exe", arguments);
    return 98;
}
