// Clocks: that of the flight ring is the processor's own counter, read without a system call.
#pragma once

#include <time.h>

#include <cstdint>

#include "base/unix_time.hpp"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace aoti_dbg {

inline std::uint64_t ticks() {
#if defined(__x86_64__)
    return __rdtsc();
#elif defined(__aarch64__)
    std::uint64_t value = 0;
    asm volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
#endif
}

inline std::uint64_t nanoseconds_of(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1000000000U + static_cast<std::uint64_t>(now.tv_nsec);
}

/// For deadlines: nobody sets it.
inline std::uint64_t monotonic_nanoseconds() {
    return nanoseconds_of(CLOCK_MONOTONIC);
}

/// The same as of the last tick, some milliseconds ago at most, in a tenth of the time.
inline std::uint64_t coarse_nanoseconds() {
    return nanoseconds_of(CLOCK_MONOTONIC_COARSE);
}

/// Less than a second, or until a signal comes.
inline void nap(std::uint64_t nanoseconds) {
    const timespec time{0, static_cast<long>(nanoseconds)};
    nanosleep(&time, nullptr);
}

}  // namespace aoti_dbg
