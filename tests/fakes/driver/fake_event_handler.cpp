// The thread that receives the devices' reports, under the real driver's thread name. It sleeps, wakes every
// 100 ms and when a fault is reported, and then sleeps again.
#include <poll.h>
#include <semaphore.h>
#include <sys/eventfd.h>
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
    int changed = -1;
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
    using Clock = std::chrono::steady_clock;
    constexpr auto kPeriod = std::chrono::milliseconds(100);
    pthread_setname_np(pthread_self(), "cuda-EvtHandlr");
    handler().thread = static_cast<pid_t>(syscall(SYS_gettid));
    Clock::time_point turn = Clock::now();
    std::chrono::milliseconds rest = kPeriod;
    for (;;) {
        pollfd changed{handler().changed, POLLIN, 0};
        std::uint64_t times = 0;
        if (poll(&changed, 1, static_cast<int>(rest.count())) > 0 &&
            read(changed.fd, &times, sizeof times) > 0)
            sem_post(&handler().heard);
        const auto gone = std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - turn);
        rest = kPeriod - std::chrono::milliseconds(1) - gone;
        if (times != 0 && rest.count() > 0) continue;
        turn = Clock::now();
        rest = kPeriod;
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
    handler().changed = eventfd(0, EFD_CLOEXEC);
    sem_init(&handler().heard, 0, 0);
    // The thread must not take signals meant for the program's own threads.
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

void wake_event_handler() {
    if (handler().thread == 0) return;
    eventfd_write(handler().changed, 1);
    wait_for(handler().heard);
}

}  // namespace fake_cuda
