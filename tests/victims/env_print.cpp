// env_print [MODEL]: runs the model if given, execs itself and prints what a program inherits. That is the
// environment (without LD_PRELOAD and the library's variables), open descriptors, the signal mask, and
// ignored and caught signals. Without MODEL, it prints at once.
#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <vector>

#include "tests/victims/model_user.hpp"

namespace {

void print_environment() {
    std::vector<std::string> all;
    for (char** entry = environ; *entry != nullptr; ++entry) {
        const std::string text = *entry;
        const bool ours = text.rfind("AOTI_DBG_", 0) == 0 || text.rfind("LD_PRELOAD=", 0) == 0;
        const bool sanitizer = text.rfind("ASAN_OPTIONS=", 0) == 0 || text.rfind("TSAN_OPTIONS=", 0) == 0;
        if (!ours && !sanitizer && text.rfind("AOT_INDUCTOR_", 0) != 0) all.push_back(text);
    }
    std::sort(all.begin(), all.end());
    for (const std::string& text : all)
        std::printf("%s\n", text.c_str());
}

void print_descriptors() {
    DIR* folder = opendir("/proc/self/fd");
    if (folder == nullptr) victim::give_up("/proc/self/fd");
    std::vector<int> open;
    while (const dirent* entry = readdir(folder)) {
        const int number = std::atoi(entry->d_name);
        if (entry->d_name[0] != '.' && number != dirfd(folder)) open.push_back(number);
    }
    closedir(folder);
    std::sort(open.begin(), open.end());
    std::printf("descriptors:");
    for (const int number : open)
        std::printf(" %d", number);
    std::printf("\n");
}

void print_signals() {
    sigset_t blocked;
    sigprocmask(SIG_SETMASK, nullptr, &blocked);
    for (int signal = 1; signal < 32; ++signal) {
        struct sigaction action {};
        sigaction(signal, nullptr, &action);
        const char* state = action.sa_handler == SIG_DFL   ? "default"
                            : action.sa_handler == SIG_IGN ? "ignored"
                                                           : "handled";
        std::printf("signal %d: %s%s\n", signal, state,
                    sigismember(&blocked, signal) == 1 ? ", blocked" : "");
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc > 1) {
        const victim::Torch torch;
        const victim::Model model(torch, argv[1]);
        victim::print("run", model.run());
        print_signals();
        std::fflush(stdout);
        execl("/proc/self/exe", "env_print", static_cast<char*>(nullptr));
        return 98;
    }
    print_environment();
    print_descriptors();
    print_signals();
    return 0;
}
