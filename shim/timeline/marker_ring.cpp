// See marker_ring.hpp.
#include "shim/timeline/marker_ring.hpp"

#include <algorithm>

namespace aoti_dbg {

std::optional<std::uint64_t> MarkerRing::add(const MarkedLaunch& launch) {
    std::uint64_t position = added_.load(std::memory_order_relaxed);
    do {
        if (position >= first_.load(std::memory_order_acquire) + words_.size()) return std::nullopt;
    } while (!added_.compare_exchange_weak(position, position + 1, std::memory_order_acq_rel,
                                           std::memory_order_relaxed));
    Place& place = at(position);
    place.launch = launch;
    place.state.store(State::used, std::memory_order_release);
    return position;
}

void MarkerRing::take_back(std::uint64_t position) {
    at(position).state.store(State::taken_back, std::memory_order_release);
}

bool MarkerRing::is_waiting(const MarkedStreamName& stream) const {
    // Most launches are of the stream that was last found waiting.
    return std::find(waiting_.rbegin(), waiting_.rend(), stream) != waiting_.rend();
}

void MarkerRing::free_read() {
    std::uint64_t first = first_.load(std::memory_order_relaxed);
    const std::uint64_t end = added_.load(std::memory_order_acquire);
    for (; first < end; ++first) {
        Place& place = at(first);
        const State state = place.state.load(std::memory_order_acquire);
        if (state != State::read && state != State::taken_back) break;
        place.state.store(State::free, std::memory_order_relaxed);
    }
    first_.store(first, std::memory_order_release);
}

std::uint64_t MarkerRing::unended() const {
    std::uint64_t count = 0;
    const std::uint64_t end = added_.load(std::memory_order_acquire);
    for (std::uint64_t position = first_.load(std::memory_order_relaxed); position < end; ++position)
        if (at(position).state.load(std::memory_order_acquire) == State::used) ++count;
    return count;
}

}  // namespace aoti_dbg
