// See tick_clock.hpp.
#include "shim/timeline/tick_clock.hpp"

#include "shim/runtime/clock.hpp"

namespace aoti_dbg {
namespace {

double speed_between(const TickClock::Moment& from, const TickClock::Moment& to) {
    return static_cast<double>(to.ticks - from.ticks) / static_cast<double>(to.unix_ns - from.unix_ns);
}

}  // namespace

TickClock::Moment TickClock::now() {
    // The thread may be interrupted between two readings.
    constexpr int kReadings = 3;
    Moment best;
    std::uint64_t least = UINT64_MAX;
    for (int i = 0; i < kReadings; ++i) {
        const std::uint64_t before = ticks();
        const std::uint64_t unix_ns = unix_nanoseconds();
        const std::uint64_t took = ticks() - before;
        if (took >= least) continue;
        least = took;
        best = {before + took / 2, unix_ns};
    }
    return best;
}

void TickClock::note(const Moment& moment) {
    if (count_ != 0) {
        const Moment& last = at(count_ - 1);
        if (moment.ticks <= last.ticks) return;
        if (moment.unix_ns <= last.unix_ns) {
            // The clock was set back, so the moments before do not count.
            count_ = 0;
        } else {
            speed_ = speed_between(last, moment);
        }
    }
    // Many buffers can be delivered at once. They must not replace the moments of old records.
    if (count_ >= 2 && at(count_ - 1).unix_ns - at(count_ - 2).unix_ns < kApart) --count_;
    moments_[count_++ % kMoments] = moment;
}

std::uint64_t TickClock::ticks_at(std::uint64_t unix_ns) const {
    if (count_ == 0) return unix_ns;
    const std::size_t oldest = count_ > kMoments ? count_ - kMoments : 0;
    std::size_t begin = count_ - 1;
    if (begin > oldest) --begin;
    while (begin > oldest && at(begin).unix_ns > unix_ns)
        --begin;
    const Moment& from = at(begin);
    const double speed = begin + 1 == count_ ? speed_ : speed_between(from, at(begin + 1));
    const auto since = static_cast<double>(static_cast<std::int64_t>(unix_ns - from.unix_ns));
    return from.ticks + static_cast<std::uint64_t>(static_cast<std::int64_t>(since * speed));
}

}  // namespace aoti_dbg
