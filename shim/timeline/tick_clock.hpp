// Turns wall-clock times of CUPTI into ticks of the library's clock, which calls are recorded with. A program
// reads ticks in a third of the time. Pure: the owner notes moments, and locks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace aoti_dbg {

class TickClock {
  public:
    /// The same time on both clocks.
    struct Moment {
        std::uint64_t ticks = 0;
        std::uint64_t unix_ns = 0;
    };

    /// Reads both clocks.
    static Moment now();

    /// Note a moment before each use, because the wall clock changes its speed.
    void note(const Moment& moment);

    /// Exact between two noted moments. Without any, a tick is a nanosecond.
    [[nodiscard]] std::uint64_t ticks_at(std::uint64_t unix_ns) const;

  private:
    static constexpr std::size_t kMoments = 256;  // of at least 2.5 s
    static constexpr std::uint64_t kApart = 10'000'000;

    [[nodiscard]] const Moment& at(std::size_t position) const { return moments_[position % kMoments]; }

    std::array<Moment, kMoments> moments_{};
    std::size_t count_ = 0;
    double speed_ = 1;  // between the last two, in ticks per nanosecond
};

}  // namespace aoti_dbg
