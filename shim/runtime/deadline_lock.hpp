// Takes a lock with a deadline. At process exit a plain lock could wait forever, because a signal handler may
// have interrupted its holder.
#pragma once

#include <time.h>

namespace aoti_dbg {

/// Tries for about `milliseconds`. The caller must unlock if it returns true.
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
