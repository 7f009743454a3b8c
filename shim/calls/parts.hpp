// What features keep for one thread, session or model. Each part is found by its type, so this folder does
// not need to know the features.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace aoti_dbg {

class Parts {
  public:
    Parts() = default;
    ~Parts() {
        while (count_ != 0) {
            const Entry& last = entries_[--count_];
            last.destroy(last.part);
        }
    }
    Parts(const Parts&) = delete;
    Parts& operator=(const Parts&) = delete;

    /// Returns null if there is no such part.
    template <typename Part>
    [[nodiscard]] Part* find() const {
        return static_cast<Part*>(by_number_[number_of<Part>.load(std::memory_order_relaxed)]);
    }

    /// Must not be called while another thread uses the parts.
    template <typename Part>
    Part& add(std::unique_ptr<Part> part) {
        static const std::uint32_t number = ++last_number;
        // The list of features is fixed, so a test would find this.
        if (count_ == entries_.size() || number >= kMostTypes) abort();
        number_of<Part>.store(number, std::memory_order_relaxed);
        by_number_[number] = part.get();
        entries_[count_++] = {part.get(), [](void* old) { delete static_cast<Part*>(old); }};
        return *part.release();
    }

    /// Creates the part if there is none.
    template <typename Part>
    [[gnu::always_inline]] Part& get() {
        Part* const known = find<Part>();
        if (known != nullptr) [[likely]]
            return *known;
        return add_new<Part>();
    }

  private:
    template <typename Part>
    [[gnu::noinline]] Part& add_new() {
        return add(std::make_unique<Part>());
    }

    // Each call looks up several parts, so each type gets a number when its first part is added. No type has
    // number 0.
    static constexpr std::size_t kMostTypes = 64;
    constinit static inline std::atomic<std::uint32_t> last_number{0};
    template <typename Part>
    constinit static inline std::atomic<std::uint32_t> number_of{0};

    struct Entry {
        void* part;
        void (*destroy)(void*);
    };
    std::size_t count_ = 0;
    std::array<Entry, 13> entries_{};  // in the order in which they were added
    std::array<void*, kMostTypes> by_number_{};
};

}  // namespace aoti_dbg
