// Decides which launches are known to have ended, from completed waits and completion markers in a flight
// ring. It then determines which launch may have faulted. It has no side effects except allocation.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "serializer/flight_ring_reader.hpp"

namespace aoti_dbg {

/// A stream as the host identifies it. A default-stream handle means a different stream in each context. The
/// per-thread handle also means a different one in each thread.
using RecordedStream = std::tuple<std::uint64_t, std::uint32_t, std::uint8_t>;  // handle, thread, context
RecordedStream recorded_stream(std::uint64_t stream, std::uint64_t thread, std::uint8_t context);
inline RecordedStream recorded_stream(const ring::Call& launch) {
    return recorded_stream(launch.record->stream, launch.thread->tid, launch.record->context);
}

/// True if both may be the same stream. An unknown context matches any.
bool may_be_one_stream(const RecordedStream& one, const RecordedStream& other);

/// `contents` must outlive it.
class EndedLaunches {
  public:
    /// Counts only waits numbered up to `up_to`, because after a fault a wait may return as if nothing had
    /// happened.
    explicit EndedLaunches(const ring::Contents& contents, std::uint64_t up_to = UINT64_MAX);

    /// True if the launch is known to have ended.
    [[nodiscard]] bool holds(const ring::Call& launch) const;

  private:
    void take(const ring::Record& wait, std::uint32_t thread, std::string_view name);

    const ring::Contents& contents_;
    std::map<std::uint8_t, std::uint64_t> everything_;  // per context: all launches before this call
    std::map<RecordedStream, std::uint64_t> streams_;
};

/// Returns the marked stream for `mark` (ring::Record::mark), or null if it has no markers.
const ring::MarkedStream* marked_stream(const ring::Contents& contents, std::uint32_t mark);

/// Returns the first launch with that mark after `completed`, or none if the ring has overwritten it.
std::optional<ring::Call> first_marked_beyond(const ring::Contents& contents, std::uint32_t mark,
                                              std::uint64_t completed);

/// True if the launch's marker shows that it has ended.
bool has_ended(const ring::Contents& contents, const ring::Record& launch);

/// Returns the launch `seq` and those behind it on its stream whose markers do not show that they ended, by
/// seq.
std::vector<ring::Call> unended_from(const ring::Contents& contents, std::uint64_t seq);

/// Returns the launches that were submitted to the device and are not known to have ended, by seq.
std::vector<ring::Call> unended_launches(const ring::Contents& contents);

/// Returns the unended launches next to a faulted one, the closest in launch order first. It omits the
/// faulted launch and earlier ones on its stream.
std::vector<ring::Call> unended_beside(const ring::Contents& contents, const ring::Call& faulted);

/// Returns those of `launches`, sorted by seq, that may be the first of them on their stream. Several threads
/// launching there at once make the order unknown.
std::vector<ring::Call> first_on_their_streams(const ring::Contents& contents,
                                               const std::vector<ring::Call>& launches);

/// True if `launches` are all that had not ended on their streams when the markers were last copied, after
/// `ticks`.
bool are_marked_since(const ring::Contents& contents, const std::vector<ring::Call>& launches,
                      std::uint64_t ticks);

struct FaultSuspects {
    std::vector<ring::Call> launches;
    bool is_certain = false;  // there is exactly one candidate, and no other launch is possible
};

/// Returns the launches whose kernel may have made the context fail. They are, for each stream of the
/// context, the first launch that its markers show as unended. Empty if no context with markers failed.
FaultSuspects fault_suspects(const ring::Contents& contents);

}  // namespace aoti_dbg
