// The thread in which the real driver hears of what its devices report, under the name that it has there. It
// sleeps, and runs when a fault is told of.
#include <semaphore.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>

#include "tests/fakes/driver/fake_driver.hpp"

namespace fake_cuda {
namespace {

struct Handler {
    std::once_flag once;
    std::atomic<pid_t> thread{0};
    sem_t told;
    sem_t heard;
};

Handler& handler() {
    static auto* const instance = new Handler;
    return *instance;
}

void wait_for(sem_t& semaphore) {
    while (sem_wait(&semaphore) != 0) {
    }
}

void handle() {
    pthread_setname_np(pthread_self(), "cuda-EvtHandlr");
    handler().thread = static_cast<pid_t>(syscall(SYS_gettid));
    for (;;) {
        wait_for(handler().told);
        sem_post(&handler().heard);
    }
}

bool sleeps(pid_t thread) {
    const std::string path = "/proc/self/task/" + std::to_string(thread) + "/stat";
    std::FILE* const file = std::fopen(path.c_str(), "re");
    if (file == nullptr) return true;
    char text[128] = {};
    const std::size_t bytes = std::fread(text, 1, sizeof text - 1, file);
    std::fclose(file);
    const char* const state = bytes == 0 ? nullptr : std::strrchr(text, ')');
    return state == nullptr || state[2] == 'S';
}

void start() {
    sem_init(&handler().told, 0, 0);
    sem_init(&handler().heard, 0, 0);
    // It must not take signals that the program means for its own threads.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread(handle).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    while (handler().thread == 0 || !sleeps(handler().thread))
        std::this_thread::sleep_for(std::chrono::microseconds(100));
}

}  // namespace

void start_event_handler() {
    std::call_once(handler().once, start);
}

void tell_event_handler() {
    if (handler().thread == 0) return;
    sem_post(&handler().told);
    wait_for(handler().heard);
}

}  // namespace fake_cuda
