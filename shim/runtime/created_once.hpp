// An object that is created when it is first needed, at most once per session. It is never freed, because
// threads may be using it.
#pragma once

#include <atomic>
#include <mutex>

namespace aoti_dbg {

template <typename Object>
class CreatedOnce {
  public:
    /// Returns null if the object was not created yet, or cannot be.
    [[nodiscard]] Object* present() const { return object_.load(std::memory_order_acquire); }

    /// Calls `create` the first time. If that returns null, there is no object from then on.
    template <typename Create>
    [[nodiscard]] Object* get(Create create) {
        if (is_decided_.load(std::memory_order_acquire)) return present();
        const std::lock_guard lock(mutex_);
        if (!is_decided_.load(std::memory_order_relaxed)) {
            object_.store(create(), std::memory_order_release);
            is_decided_.store(true, std::memory_order_release);
        }
        return present();
    }

    /// From now on, nothing is created.
    void close() { is_decided_.store(true, std::memory_order_release); }

  private:
    std::mutex mutex_;  // for the creation
    std::atomic<bool> is_decided_{false};
    std::atomic<Object*> object_{nullptr};
};

}  // namespace aoti_dbg
