// The launches of one context whose end is not known yet. Each has a word, to which the device writes the
// time when the launch ended. Threads that launch add to the ring, without locks and without waiting. One
// other thread reads it. It must not call the driver.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/cache_line.hpp"
#include "shim/timeline/device_clock.hpp"

namespace aoti_dbg {

struct Name;

struct MarkedLaunch {
    std::uint64_t seq = 0;
    const Name* name = nullptr;
    std::uint64_t begun = 0;  // on the host, in nanoseconds since the epoch
    MarkedStreamName stream = {};
};

class MarkerRing {
  public:
    /// All words must be 0. They must outlive the ring. Throws std::bad_alloc.
    explicit MarkerRing(std::span<std::uint64_t> words)
        : words_(words), places_(std::make_unique<Place[]>(words.size())) {}

    /// Returns the launch's position, or nothing while the ring is full. The device must then write to the
    /// word at word_of(position), or the caller must call take_back().
    std::optional<std::uint64_t> add(const MarkedLaunch& launch);
    [[nodiscard]] std::size_t word_of(std::uint64_t position) const { return position % words_.size(); }
    /// The device writes nothing for this launch.
    void take_back(std::uint64_t position);

    // One thread calls these.

    /// Calls `take(launch, time of the device)` for each launch whose word arrived. Launches of a stream come
    /// in the order in which they were added.
    template <typename Take>
    void read(Take take) {
        waiting_.clear();
        const std::uint64_t end = added_.load(std::memory_order_acquire);
        for (std::uint64_t position = first_.load(std::memory_order_relaxed); position < end; ++position)
            read_one(position, take);
        free_read();
    }
    /// Returns how many launches have not ended.
    [[nodiscard]] std::uint64_t unended() const;

  private:
    enum class State : std::uint8_t { free, used, taken_back, read };
    struct Place {
        std::atomic<State> state{State::free};
        MarkedLaunch launch;
    };

    [[nodiscard]] Place& at(std::uint64_t position) const { return places_[word_of(position)]; }
    [[nodiscard]] bool is_waiting(const MarkedStreamName& stream) const;
    template <typename Take>
    void read_one(std::uint64_t position, Take& take) {
        Place& place = at(position);
        if (place.state.load(std::memory_order_acquire) != State::used) return;
        const std::atomic_ref word(words_[word_of(position)]);
        const std::uint64_t time = word.load(std::memory_order_acquire);
        // A word may arrive after this loop passed it, and before the next one of its stream.
        if (is_waiting(place.launch.stream)) return;
        if (time == 0) return waiting_.push_back(place.launch.stream);
        take(place.launch, time);
        word.store(0, std::memory_order_relaxed);
        place.state.store(State::read, std::memory_order_relaxed);
    }
    void free_read();

    std::span<std::uint64_t> words_;
    std::unique_ptr<Place[]> places_;
    std::vector<MarkedStreamName> waiting_;  // streams whose next word has not arrived
    alignas(kCacheLine) std::atomic<std::uint64_t> added_{0};
    alignas(kCacheLine) std::atomic<std::uint64_t> first_{0};
};

}  // namespace aoti_dbg
