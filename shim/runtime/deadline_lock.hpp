// Taking a lock at the end of a process, perhaps in a signal handler that interrupted its holder: with a
// deadline.
#pragma once

#include <time.h>

namespace aoti_dbg {

/// Tries for about `milliseconds`. The caller unlocks if it returned true.
template <typename Mutex>
[[nodiscard]] bool lock_with_deadline(Mutex& mutex, int milliseconds = 200) {
    for (int tries = 0; tries < milliseconds; ++tries) {
        if (mutex.try_lock()) return true;
        const timespec millisecond{0, 1000000};
        nanosleep(&millisecond, nullptr);
    }
    return false;
}

}  // namespace aoti_dbg
