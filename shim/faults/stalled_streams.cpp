#include "shim/faults/stalled_streams.hpp"

#include <algorithm>
#include <iterator>

namespace aoti_dbg {

void StalledStreams::note(const std::vector<UnendedMark>& unended, std::uint64_t ended,
                          std::uint64_t elapsed) {
    ++look_;
    stalled_for_ = ended == ended_ ? stalled_for_ + elapsed : 0;
    ended_ = ended;
    for (const UnendedMark& one : unended) {
        Stream& stream = streams_[one.mark];
        if (stream.look == 0 || stream.at.completed != one.completed) {
            stream = Stream{one, 0, limit_};
        } else {
            stream.stalled_for += elapsed;
        }
        stream.at = one;
        stream.look = look_;
    }
    for (auto stream = streams_.begin(); stream != streams_.end();)
        stream = stream->second.look == look_ ? std::next(stream) : streams_.erase(stream);
}

bool StalledStreams::has_due() const {
    return std::any_of(streams_.begin(), streams_.end(),
                       [this](const auto& one) { return is_due(one.second); });
}

std::vector<UnendedMark> StalledStreams::ask() {
    std::vector<UnendedMark> all;
    all.reserve(streams_.size());
    for (auto& [mark, stream] : streams_) {
        if (is_due(stream)) stream.due_at = 2 * stream.stalled_for;
        if (!stream.at.is_uncertain) all.push_back(stream.at);
    }
    return all;
}

std::uint64_t StalledStreams::stalled_for(const UnendedMark& at) const {
    const auto stream = streams_.find(at.mark);
    const bool is_same_launch = stream != streams_.end() && stream->second.at.completed == at.completed;
    return is_same_launch ? std::max<std::uint64_t>(stream->second.stalled_for, 1) : 0;
}

}  // namespace aoti_dbg
