#include "shim/observe/standing_streams.hpp"

#include <iterator>

namespace aoti_dbg {
namespace {

constexpr std::uint64_t kBetweenQuestions = 1'000'000'000;

}  // namespace

void StandingStreams::note(const std::vector<UnendedMark>& unended, std::uint64_t ended,
                           std::uint64_t elapsed) {
    ++look_;
    has_gone_on_ = false;
    stood_ = ended == ended_ ? stood_ + elapsed : 0;
    ended_ = ended;
    for (const UnendedMark& one : unended) {
        Stream& stream = streams_[one.mark];
        if (stream.look == 0 || stream.completed != one.completed) {
            has_gone_on_ |= stream.is_told;
            stream = Stream{one.completed, 0, limit_};
        } else {
            stream.stood += elapsed;
        }
        stream.look = look_;
    }
    for (auto stream = streams_.begin(); stream != streams_.end();) {
        const bool is_there = stream->second.look == look_;
        has_gone_on_ |= !is_there && stream->second.is_told;
        stream = is_there ? std::next(stream) : streams_.erase(stream);
    }
}

bool StandingStreams::has_due() const {
    for (const auto& [mark, stream] : streams_)
        if (is_due(stream)) return true;
    return false;
}

std::vector<std::uint32_t> StandingStreams::due() {
    std::vector<std::uint32_t> marks;
    for (auto& [mark, stream] : streams_) {
        if (!is_due(stream)) continue;
        marks.push_back(mark);
        stream.due_at = stream.stood + kBetweenQuestions;
    }
    return marks;
}

std::map<std::uint32_t, std::uint64_t> StandingStreams::told() const {
    std::map<std::uint32_t, std::uint64_t> told;
    for (const auto& [mark, stream] : streams_)
        if (stream.is_told) told[mark] = stream.stood;
    return told;
}

}  // namespace aoti_dbg
