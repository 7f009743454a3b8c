// Finds stalled streams from their completion markers: the first unfinished launch of each thread there stays
// the same for long. Streams may wait for one another, so none is stalled while a launch ends on another one.
// Only one thread may use it.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "shim/faults/marked_context.hpp"

namespace aoti_dbg {

class StalledStreams {
  public:
    /// `limit` is in nanoseconds.
    explicit StalledStreams(std::uint64_t limit) : limit_(limit) {}

    /// `unended` is the current state, and `ended` changes whenever a launch ends. `elapsed` is the time
    /// since the last look.
    void note(const std::vector<UnendedMark>& unended, std::uint64_t ended, std::uint64_t elapsed);

    /// True if a stream is stalled for longer than the limit, and for twice as long as at the last ask().
    [[nodiscard]] bool has_due() const;
    /// Returns all stalled streams. The earliest launch may be what blocks the others.
    std::vector<UnendedMark> ask();

    /// Returns for how many nanoseconds the launch is stalled, or 0 if it has progressed.
    [[nodiscard]] std::uint64_t stalled_for(const UnendedMark& at) const;

  private:
    struct Stream {
        UnendedMark at;
        std::uint64_t stalled_for = 0;
        std::uint64_t due_at = 0;  // a value of `stood`
        std::uint64_t look = 0;    // the last look with an unfinished launch
    };
    [[nodiscard]] bool is_due(const Stream& stream) const {
        return !stream.at.is_uncertain && stalled_for_ >= limit_ && stream.stalled_for >= stream.due_at;
    }

    const std::uint64_t limit_;
    std::map<std::uint32_t, Stream> streams_;  // by mark
    std::uint64_t look_ = 0;
    std::uint64_t ended_ = 0;
    std::uint64_t stalled_for_ = 0;  // for all streams together
};

}  // namespace aoti_dbg
