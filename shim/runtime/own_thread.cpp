#include "shim/runtime/own_thread.hpp"

#include <pthread.h>
#include <signal.h>

#include <cstddef>

namespace aoti_dbg {
namespace {

// What needs most are the statistics (24 KiB) and the program's thread-local storage. The default is eight
// times that, which counts where memory is limited by address space.
constexpr std::size_t kStackBytes = std::size_t{1} << 20U;

}  // namespace

bool start_own_thread(void* (*run)(void*), void* argument) {
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes) != 0) return false;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, kStackBytes);
    sigset_t blocked;
    sigset_t before;
    sigfillset(&blocked);
    sigdelset(&blocked, SIGSEGV);
    sigdelset(&blocked, SIGBUS);
    // A thread begins with the mask of the one that makes it.
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    pthread_t thread{};
    const bool is_made = pthread_create(&thread, &attributes, run, argument) == 0;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_attr_destroy(&attributes);
    return is_made;
}

void name_own_thread() {
    pthread_setname_np(pthread_self(), "aoti-dbg");
}

}  // namespace aoti_dbg
