// Interposed behind the library under test: slows down each file while the file named by SLOW_DISK exists,
// and blocks while that has content. It removes that file's write permission to show that it blocks. At exit
// it prints the state of SIGINT and raises it.
#include <dlfcn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>

namespace {

void nap() {
    const int kept = errno;
    const char* const path = getenv("SLOW_DISK");
    const timespec a_while{0, 20'000'000};
    struct stat is {};
    while (path != nullptr && stat(path, &is) == 0) {
        if (is.st_size != 0) chmod(path, S_IRUSR);
        nanosleep(&a_while, nullptr);
        if (is.st_size == 0) break;
    }
    errno = kept;
}

void print_sigint() {
    struct sigaction action {};
    sigset_t mask;
    sigset_t pending;
    sigaction(SIGINT, nullptr, &action);
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    sigpending(&pending);
    constexpr unsigned kRestorer = 0x04000000;  // set by the C library from the first change on
    const bool is_default = action.sa_handler == SIG_DFL;
    dprintf(STDOUT_FILENO, "SIGINT: %s, flags %x, blocked %d, pending %d\n",
            is_default                     ? "default"
            : action.sa_handler == SIG_IGN ? "ignored"
                                           : "handled",
            static_cast<unsigned>(action.sa_flags) & ~kRestorer, sigismember(&mask, SIGINT),
            sigismember(&pending, SIGINT));
    if (!is_default) raise(SIGINT);
}

__attribute__((destructor)) void leave() {
    print_sigint();
}

}  // namespace

extern "C" {

ssize_t pwritev(int file, const iovec* parts, int count, off_t from) {
    nap();
    static auto* const real = reinterpret_cast<decltype(&::pwritev)>(dlsym(RTLD_NEXT, "pwritev"));
    return real(file, parts, count, from);
}

int linkat(int from_folder, const char* from, int to_folder, const char* to, int flags) {
    nap();
    static auto* const real = reinterpret_cast<decltype(&::linkat)>(dlsym(RTLD_NEXT, "linkat"));
    return real(from_folder, from, to_folder, to, flags);
}

void _exit(int status) {
    print_sigint();
    syscall(SYS_exit_group, status);
    __builtin_trap();
}
}
