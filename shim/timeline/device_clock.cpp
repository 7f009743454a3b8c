// See device_clock.hpp.
#include "shim/timeline/device_clock.hpp"

namespace aoti_dbg {

void DeviceClock::observe(std::uint64_t device, std::uint64_t earliest, std::uint64_t latest) {
    // The host's clock was set meanwhile.
    if (earliest > latest) return;
    // One clock may run faster than the other, and NTP adjusts the host's.
    constexpr std::uint64_t kDrift = 20'000;  // 50 parts in a million
    if (is_known_ && latest > widened_at_) {
        const std::uint64_t wider = (latest - widened_at_) / kDrift;
        low_ -= static_cast<std::int64_t>(wider);
        high_ += static_cast<std::int64_t>(wider);
        widened_at_ += wider * kDrift;
    }
    const auto low = static_cast<std::int64_t>(earliest - device);
    const auto high = static_cast<std::int64_t>(latest - device);
    const bool agrees = is_known_ && low <= high_ && high >= low_;
    low_ = agrees ? std::max(low_, low) : low;
    high_ = agrees ? std::min(high_, high) : high;
    const std::int64_t width = high_ - low_;
    if (!agrees) {
        is_known_ = true;
        widened_at_ = latest;
        best_ = width;
    }
    best_ = std::min(best_, width);
    // While the GPU always has work queued, only the upper bound is good.
    const bool is_good = width <= 2 * best_;
    offset_ = is_good ? low_ + width / 2 : std::clamp(offset_, low_, high_);
}

HostTimes StreamEnds::add(const MarkedStreamName& stream, std::uint64_t begun, std::uint64_t device,
                          const DeviceClock& clock) {
    HostTimes times{begun, clock.host_time(device)};
    const auto known =
        std::find_if(ends_.begin(), ends_.end(), [&](const End& one) { return one.stream == stream; });
    if (known == ends_.end()) {
        times.start = std::min(times.start, times.end);
        const End added{stream, device, times.end};
        if (ends_.size() < kMostStreams) {
            ends_.push_back(added);
        } else {
            ends_[oldest_++ % kMostStreams] = added;
        }
        return times;
    }
    // The bounds of the clock became better since the last launch. If it ended much later, the host's clock
    // was set.
    constexpr std::uint64_t kMostCorrection = 1'000'000;
    if (times.end < known->host && known->host - times.end < kMostCorrection) times.end = known->host;
    times.start = std::min(std::max(times.start, clock.host_time(known->device)), times.end);
    if (times.start < known->host) times.start = std::min(known->host, times.end);
    known->device = std::max(known->device, device);
    known->host = times.end;
    return times;
}

}  // namespace aoti_dbg
