// Which launches the device is known to be done with, as a flight ring tells it: by calls that waited and
// came back, and by completion markers. And from that, which launch it can have been whose kernel faulted.
// Pure, but for what it allocates.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "serializer/flight_ring_reader.hpp"

namespace aoti_dbg {

/// A stream as the host counts. The same handle means another one in each context where it is none that was
/// made, and in each thread where it is that of the thread.
using StreamKey = std::tuple<std::uint64_t, std::uint32_t, std::uint8_t>;  // handle, thread, context
StreamKey stream_key(std::uint64_t stream, std::uint64_t thread, std::uint8_t context);
inline StreamKey stream_key(const ring::Call& launch) {
    return stream_key(launch.record->stream, launch.thread->tid, launch.record->context);
}

/// Whether both may be one: who does not say in which context may mean any.
bool may_be_one_stream(const StreamKey& one, const StreamKey& other);

/// Its contents outlive it.
class EndedLaunches {
  public:
    /// Calls that waited count up to that number: behind a fault they may come back as if all were well.
    explicit EndedLaunches(const ring::Contents& contents, std::uint64_t up_to = UINT64_MAX);

    /// Whether the launch is known to have ended.
    [[nodiscard]] bool holds(const ring::Call& launch) const;

  private:
    void take(const ring::Record& wait, std::uint32_t thread, std::string_view name);

    const ring::Contents& contents_;
    std::map<std::uint8_t, std::uint64_t> everything_;  // of a context, before this call
    std::map<StreamKey, std::uint64_t> streams_;
};

/// What the markers of that mark (ring::Record::mark) have come to; null where there are none.
const ring::MarkedStream* marked_stream(const ring::Contents& contents, std::uint32_t mark);

/// The first launch with that mark beyond `completed`; none where the ring does not have it any more.
std::optional<ring::Call> first_marked_beyond(const ring::Contents& contents, std::uint32_t mark,
                                              std::uint64_t completed);

/// Whether its marker says that the launch has ended.
bool has_ended(const ring::Contents& contents, const ring::Record& launch);

/// The launch with that seq, and those behind it on its stream, as far as their markers say that they have
/// not ended; by seq.
std::vector<ring::Call> unended_from(const ring::Contents& contents, std::uint64_t seq);

/// Those that were handed to the device and are not known to have ended, by seq.
std::vector<ring::Call> unended_launches(const ring::Contents& contents);

/// The same beside one whose kernel faulted, those launched nearest to it first: not that one, nor those
/// before it on its stream.
std::vector<ring::Call> unended_beside(const ring::Contents& contents, const ring::Call& faulted);

/// Of `launches`, which are in the order of their seq, those that may be the first of them on their stream:
/// where several threads launched there at once, nobody knows who was first.
std::vector<ring::Call> first_on_their_streams(const ring::Contents& contents,
                                               const std::vector<ring::Call>& launches);

/// Whether `launches` are all that had not ended on their streams when markers were looked at, which was
/// after `ticks`.
bool are_marked_since(const ring::Contents& contents, const std::vector<ring::Call>& launches,
                      std::uint64_t ticks);

struct FaultSuspects {
    std::vector<ring::Call> launches;
    bool is_certain = false;  // it is one, and it can have been no other
};

/// The launch whose kernel made the context fail is one of these: of each stream of the context the first
/// that its markers say had not ended. None where no context failed that had markers.
FaultSuspects fault_suspects(const ring::Contents& contents);

}  // namespace aoti_dbg
