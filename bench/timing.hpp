// Shared by the benchmark programs: the median of rounds, and the lines that bench/run.py reads:
//   value <nanoseconds per call or run, median of the rounds>
//   start <nanoseconds>     the clock at the start, for runs that another process times
// It must not use the library.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

namespace bench {

using Clock = std::chrono::steady_clock;

inline double nanoseconds_since(Clock::time_point start) {
    return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

/// Calls `round` `rounds` times, and once before that to warm up. `round` makes `calls` calls and returns
/// when they are complete. Returns the median in nanoseconds per call.
template <typename Round>
double median_of_rounds(int rounds, int calls, Round round) {
    round();
    std::vector<double> took;
    for (int i = 0; i < rounds; ++i) {
        const Clock::time_point start = Clock::now();
        round();
        took.push_back(nanoseconds_since(start) / calls);
    }
    std::nth_element(took.begin(), took.begin() + rounds / 2, took.end());
    return took[static_cast<std::size_t>(rounds / 2)];
}

inline void report(double nanoseconds) {
    std::printf("value %.2f\n", nanoseconds);
    std::fflush(stdout);
}

/// This is the clock of Python's time.monotonic_ns().
inline void report_start() {
    const auto now = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch());
    std::printf("start %lld\n", static_cast<long long>(now.count()));
    std::fflush(stdout);
}

}  // namespace bench
