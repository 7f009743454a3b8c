// See span_matcher.hpp.
#include "shim/timeline/span_matcher.hpp"

namespace aoti_dbg {

void SpanMatcher::submitted(std::uint32_t correlation, std::uint64_t seq) {
    calls_[correlation % kCalls] = {correlation, seq};
}

void SpanMatcher::add(std::uint32_t correlation, DeviceSpan span) {
    waiting_.push_back({correlation, 0, std::move(span)});
}

std::vector<DeviceSpan> SpanMatcher::take() {
    return take_if_over(kMostBuffers);
}

std::vector<DeviceSpan> SpanMatcher::take_all() {
    return take_if_over(0);
}

std::vector<DeviceSpan> SpanMatcher::take_if_over(unsigned most_buffers) {
    std::vector<DeviceSpan> found;
    std::deque<Waiting> rest;
    std::size_t waiting = waiting_.size();
    for (Waiting& one : waiting_) {
        const Call& call = calls_[one.correlation % kCalls];
        const bool is_known = call.correlation == one.correlation && one.correlation != 0;
        if (is_known) one.span.seq = call.seq;
        if (is_known || ++one.buffers > most_buffers || waiting > kMostWaiting) {
            found.push_back(std::move(one.span));
            --waiting;
        } else {
            rest.push_back(std::move(one));
        }
    }
    waiting_ = std::move(rest);
    return found;
}

}  // namespace aoti_dbg
