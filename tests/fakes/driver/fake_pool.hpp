// Handles of the software driver: fixed places that are validated on use and reused. The next handle is the
// one returned last, as with the real driver.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace fake_cuda {

/// T needs `std::atomic<bool> alive`. Objects are constructed once and never destroyed.
template <typename T, std::size_t kCount>
class Pool {
  public:
    /// Returns a place that is not alive yet, or nullptr if all are taken. The caller fills it and then sets
    /// `alive`.
    T* take() {
        const std::lock_guard lock(mutex_);
        if (!free_.empty()) {
            T* place = free_.back();
            free_.pop_back();
            return place;
        }
        return used_ < kCount ? &places_[used_++] : nullptr;
    }

    void give_back(T* place) {
        place->alive.store(false, std::memory_order_release);
        const std::lock_guard lock(mutex_);
        free_.push_back(place);
    }

    /// Returns the object behind a handle, or nullptr if the handle is not a live object of this pool.
    T* check(const void* handle) {
        const auto address = reinterpret_cast<std::uintptr_t>(handle);
        const auto first = reinterpret_cast<std::uintptr_t>(places_.data());
        if (address < first || address >= first + sizeof(places_) || (address - first) % sizeof(T) != 0) {
            return nullptr;
        }
        T* place = &places_[(address - first) / sizeof(T)];
        return place->alive.load(std::memory_order_acquire) ? place : nullptr;
    }

    template <typename Work>
    void for_each_alive(Work work) {
        std::size_t used = 0;
        {
            const std::lock_guard lock(mutex_);
            used = used_;
        }
        for (std::size_t i = 0; i < used; ++i) {
            if (places_[i].alive.load(std::memory_order_acquire)) work(&places_[i]);
        }
    }

  private:
    std::mutex mutex_;
    std::vector<T*> free_;
    std::size_t used_ = 0;
    std::array<T, kCount> places_;
};

}  // namespace fake_cuda
