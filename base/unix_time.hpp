#pragma once

#include <cstdint>
#include <ctime>

namespace aoti_dbg {

/// Returns the current wall-clock time in nanoseconds since the epoch.
inline std::uint64_t unix_nanoseconds() {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace aoti_dbg
