#include "serializer/ring_clock.hpp"

namespace aoti_dbg {

RingClock::RingClock(const ring::FileHeader& header)
    : start_ns_(header.start_unix_ns), start_ticks_(header.start_ticks), tick_ns_(0) {
    if (header.anchor_ticks <= header.start_ticks || header.anchor_unix_ns <= header.start_unix_ns) return;
    tick_ns_ = static_cast<double>(header.anchor_unix_ns - header.start_unix_ns) /
               static_cast<double>(header.anchor_ticks - header.start_ticks);
}

std::uint64_t RingClock::unix_ns(std::uint64_t ticks) const {
    if (tick_ns_ == 0 || ticks < start_ticks_) return 0;
    const double passed = static_cast<double>(ticks - start_ticks_) * tick_ns_;
    constexpr double kHundredYears = 3.2e18;
    return passed < kHundredYears ? start_ns_ + static_cast<std::uint64_t>(passed) : 0;
}

}  // namespace aoti_dbg
