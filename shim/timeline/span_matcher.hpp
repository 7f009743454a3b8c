// Finds the call that submitted the work of a device. The driver gives both the submitting function and the
// work the same correlation number, and may deliver the two records in either order. Bounded: a function
// that was overwritten, or that does not arrive in time, leaves its work without a call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "serializer/timeline_jsonl.hpp"

namespace aoti_dbg {

class SpanMatcher {
  public:
    SpanMatcher() : calls_(kCalls) {}

    /// A function with this correlation number submitted work during call `seq`.
    void submitted(std::uint32_t correlation, std::uint64_t seq);

    /// Adds work. take() finds its call.
    void add(std::uint32_t correlation, DeviceSpan span);

    /// Call this after the records of each buffer. Returns the spans whose call is known, or that have waited
    /// for kMostBuffers.
    std::vector<DeviceSpan> take();
    /// Returns all of the rest.
    std::vector<DeviceSpan> take_all();

    static constexpr std::size_t kCalls = std::size_t{1} << 18U;
    static constexpr std::size_t kMostWaiting = std::size_t{1} << 14U;
    static constexpr unsigned kMostBuffers = 4;

  private:
    struct Call {
        std::uint32_t correlation = 0;
        std::uint64_t seq = 0;
    };
    struct Waiting {
        std::uint32_t correlation;
        unsigned buffers;
        DeviceSpan span;
    };
    std::vector<DeviceSpan> take_if_over(unsigned most_buffers);

    std::vector<Call> calls_;  // by the low bits of the correlation number
    std::deque<Waiting> waiting_;
};

}  // namespace aoti_dbg
