// Calls _exit in a signal handler while two threads allocate. The library's exit code must not allocate, or
// it would wait for a lock that its own thread holds. The exit code is 3.
#include <dlfcn.h>
#include <sys/time.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <thread>

namespace {

[[noreturn]] void allocate_for_ever() {
    for (std::size_t bytes = 1;; bytes = bytes * 7 % 100003) {
        void* volatile memory = std::malloc(bytes);
        std::free(memory);
    }
}

}  // namespace

int main() {
    // With a driver in the process, the library prints a message if it recorded nothing.
    if (dlopen("libcuda.so.1", RTLD_NOW) == nullptr) return 1;
    std::signal(SIGALRM, [](int) { _exit(3); });
    std::thread(allocate_for_ever).detach();
    const itimerval soon{{0, 0}, {0, 15000}};
    setitimer(ITIMER_REAL, &soon, nullptr);
    allocate_for_ever();
}
