// Turns the ticks of a flight ring into time.
#pragma once

#include <cstdint>

#include "serializer/flight_ring_format.hpp"

namespace aoti_dbg {

class RingClock {
  public:
    explicit RingClock(const ring::FileHeader& header);
    /// Returns 0 if the time is unknown.
    [[nodiscard]] std::uint64_t unix_ns(std::uint64_t ticks) const;
    /// Returns the length of a tick, or 0 if it is unknown.
    [[nodiscard]] double tick_ns() const { return tick_ns_; }

  private:
    std::uint64_t start_ns_;
    std::uint64_t start_ticks_;
    double tick_ns_;  // 0: unknown
};

}  // namespace aoti_dbg
