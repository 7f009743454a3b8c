// Waits for a semaphore, with a deadline.
#pragma once

#include <semaphore.h>
#include <time.h>

#include <cerrno>

namespace aoti_dbg {

inline timespec in_nanoseconds(long nanoseconds) {
    timespec time{};
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_nsec += nanoseconds % 1'000'000'000;
    time.tv_sec += nanoseconds / 1'000'000'000 + time.tv_nsec / 1'000'000'000;
    time.tv_nsec %= 1'000'000'000;
    return time;
}

/// Returns false if the time is over.
inline bool wait_until(sem_t& semaphore, const timespec& time) {
    int result = 0;
    while ((result = sem_timedwait(&semaphore, &time)) != 0 && errno == EINTR) {
    }
    return result == 0;
}

}  // namespace aoti_dbg
