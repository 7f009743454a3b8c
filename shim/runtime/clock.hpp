// Clocks of the library. The flight recorder ring uses the processor's own counter, which needs no system
// call to read.
#pragma once

#include <time.h>

#include <cstdint>

#include "base/unix_time.hpp"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace aoti_dbg {

inline constexpr std::uint64_t kMillisecond = 1'000'000;  // in nanoseconds

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

/// Use it for deadlines, because no program can set this clock.
inline std::uint64_t monotonic_nanoseconds() {
    return nanoseconds_of(CLOCK_MONOTONIC);
}

/// Returns the monotonic time of the last kernel tick, a few milliseconds ago at most. It costs a tenth of an
/// exact reading.
inline std::uint64_t coarse_nanoseconds() {
    return nanoseconds_of(CLOCK_MONOTONIC_COARSE);
}

/// Sleeps until the time is over or a signal arrives. `nanoseconds` must be less than a second.
inline void nap(std::uint64_t nanoseconds) {
    const timespec time{0, static_cast<long>(nanoseconds)};
    nanosleep(&time, nullptr);
}

}  // namespace aoti_dbg
