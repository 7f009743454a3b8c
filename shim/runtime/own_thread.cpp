#include "shim/runtime/own_thread.hpp"

#include <pthread.h>
#include <signal.h>

#include <cstddef>

namespace aoti_dbg {
namespace {

// The statistics (24 KiB) and the program's thread-local storage need most of the stack. The default is eight
// times as large, which matters if the address space is limited.
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
    // A new thread inherits the signal mask of its creator.
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
