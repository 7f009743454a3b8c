// Streams on which nothing ends any more, by their completion markers: of each thread that launches there the
// first launch that has not ended is the same for long. As streams may wait for one another, none counts as
// standing as long as anything ends on another. Used by one thread.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "shim/faults/marked_context.hpp"

namespace aoti_dbg {

class StalledStreams {
  public:
    /// Nanoseconds.
    explicit StalledStreams(std::uint64_t limit) : limit_(limit) {}

    /// `unended` as of now, `ended` a number that changes whenever a launch ends; so long after the last
    /// look.
    void note(const std::vector<UnendedMark>& unended, std::uint64_t ended, std::uint64_t elapsed);

    /// Whether one has stood for longer than the limit, and as long again as when it was asked after last.
    [[nodiscard]] bool has_due() const;
    /// All that stand, of which who was launched first may be what the others wait for.
    std::vector<UnendedMark> ask();

    /// For how many nanoseconds that has stood; 0: it has gone on.
    [[nodiscard]] std::uint64_t stood(const UnendedMark& at) const;

  private:
    struct Stream {
        UnendedMark at;
        std::uint64_t stood = 0;
        std::uint64_t due_at = 0;  // of `stood`
        std::uint64_t look = 0;    // when it had something that has not ended
    };
    [[nodiscard]] bool is_due(const Stream& stream) const {
        return !stream.at.is_uncertain && stood_ >= limit_ && stream.stood >= stream.due_at;
    }

    const std::uint64_t limit_;
    std::map<std::uint32_t, Stream> streams_;  // by mark
    std::uint64_t look_ = 0;
    std::uint64_t ended_ = 0;
    std::uint64_t stood_ = 0;  // all of them
};

}  // namespace aoti_dbg
