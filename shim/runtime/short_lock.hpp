// A lock that threads hold for some hundred instructions, and hardly ever at the same time. Taking and
// releasing it costs one atomic operation, half of what a mutex costs. All zeros means unlocked. Do not take
// it in a signal handler.
#pragma once

#include <atomic>

#include "shim/runtime/clock.hpp"

namespace aoti_dbg {

class ShortLock {
  public:
    void lock() {
        if (!try_lock()) [[unlikely]]
            wait();
    }
    [[nodiscard]] bool try_lock() { return !is_held_.exchange(true, std::memory_order_acquire); }
    void unlock() { is_held_.store(false, std::memory_order_release); }

  private:
    /// The holder may be waiting for a processor or for the disk, so this sleeps between two attempts.
    [[gnu::cold, gnu::noinline]] void wait() {
        constexpr int kSpins = 100;
        constexpr std::uint64_t kNap = 20'000;
        for (int tries = 0; !try_lock(); ++tries)
            if (tries >= kSpins) nap(kNap);
    }

    std::atomic<bool> is_held_{false};
};

}  // namespace aoti_dbg
