// Streams on which nothing ends any more, by their completion markers: of each thread that launches there the
// first launch that has not ended is the same for long. As streams may wait for one another, none counts as
// standing as long as anything ends on another. Used by one thread.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "shim/observe/marked_context.hpp"

namespace aoti_dbg {

class StandingStreams {
  public:
    /// Nanoseconds.
    explicit StandingStreams(std::uint64_t limit) : limit_(limit) {}

    /// `unended` as of now, `ended` a number that changes whenever a launch ends; so long after the last
    /// look.
    void note(const std::vector<UnendedMark>& unended, std::uint64_t ended, std::uint64_t elapsed);

    /// Those that stand for longer than the limit and were not told of; asked after again in a second where
    /// they are not told now.
    std::vector<std::uint32_t> due();
    [[nodiscard]] bool has_due() const;
    void set_told(std::uint32_t mark) { streams_[mark].is_told = true; }

    /// By mark, in nanoseconds.
    [[nodiscard]] std::map<std::uint32_t, std::uint64_t> told() const;
    /// Whether one that was told of has gone on, at the last look.
    [[nodiscard]] bool has_gone_on() const { return has_gone_on_; }

  private:
    struct Stream {
        std::uint64_t completed = 0;
        std::uint64_t stood = 0;
        std::uint64_t due_at = 0;  // of `stood`
        std::uint64_t look = 0;    // when it had something that has not ended
        bool is_told = false;
    };
    [[nodiscard]] bool is_due(const Stream& stream) const {
        return !stream.is_told && stood_ >= limit_ && stream.stood >= stream.due_at;
    }

    const std::uint64_t limit_;
    std::map<std::uint32_t, Stream> streams_;  // by mark
    std::uint64_t look_ = 0;
    std::uint64_t ended_ = 0;
    std::uint64_t stood_ = 0;  // all of them
    bool has_gone_on_ = false;
};

}  // namespace aoti_dbg
