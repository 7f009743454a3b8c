// Reads a flight ring (flight_ring_format.hpp), even one that a live process is writing or that a crash left
// incomplete. It accepts any bytes: impossible data is dropped and noted. Memory is bounded by the file's
// size and by kLargestFile. It must never trust a length that it has read.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "serializer/flight_ring_format.hpp"

namespace aoti_dbg::ring {

/// Larger files are refused. A ring of a thousand threads at the default capacity is a quarter of this.
inline constexpr std::uint64_t kLargestFile = 1ULL << 30U;

/// True if the ring does not show that the call returned.
inline bool is_open(const Record& record) {
    return (record.flags & (kEnded | kUnwoundByException)) == 0;
}
/// True for a call, but not for a wait, that returned an error or ended by an exception.
inline bool has_failed(const Record& record) {
    return record.kind != CallKind::lifecycle && record.kind != CallKind::wait &&
           (record.result != 0 || (record.flags & kUnwoundByException) != 0);
}

struct Thread {
    std::uint32_t tid = 0;
    bool ended = false;
    std::uint64_t written = 0;                     // records ever begun
    std::vector<Record> records;                   // complete records that remain, by seq
    std::map<std::uint64_t, std::uint32_t> lines;  // of the wrapper source, by seq, where the ring has them

    /// Returns 0 if the ring does not have it.
    [[nodiscard]] std::uint32_t line_of(const Record& record) const {
        const auto found = lines.find(record.seq);
        return found == lines.end() ? 0 : found->second;
    }
    /// Returns how many older records the ring has overwritten. A killed thread may leave one that is not
    /// complete.
    [[nodiscard]] std::uint64_t overwritten() const {
        return written > records.size() + 1 ? written - records.size() : 0;
    }
};

/// The completion markers of one device context.
struct Markers {
    MarkersHeader header{};
    std::uint32_t first = 0;            // mark of the first stream
    std::vector<MarkedStream> streams;  // by mark
};

struct Contents {
    FileHeader header{};             // texts are always NUL-terminated, whatever the file contains
    std::vector<std::string> names;  // by id; empty if the file has no such name
    std::vector<Thread> threads;     // in block order
    std::vector<Markers> markers;    // one for each context with markers
    std::vector<std::string> notes;  // what was wrong and dropped, one sentence each

    /// Returns the name of an id, or "?" if the file does not have it.
    [[nodiscard]] std::string_view name(std::uint32_t id) const;
    /// Returns the markers that contain a launch's `mark`. Returns null for 0 or if the file lacks them.
    [[nodiscard]] const Markers* markers_of(std::uint32_t mark) const;
    /// Returns the context of a launch or a wait, or null if it is unknown.
    [[nodiscard]] const DeviceContext* context_of(const Record& record) const;
    /// True if launches went to more than one device.
    [[nodiscard]] bool has_several_devices() const;
};

struct Call {
    const Thread* thread;
    const Record* record;
};

/// Fails if `bytes` is not a ring or has a newer version, but never for damage after the header.
Result<Contents> parse_flight_ring(std::string_view bytes);
Result<Contents> read_flight_ring(const std::string& path);

/// Returns the records of all threads, by seq. They point into `contents`.
std::vector<Call> merged_calls(const Contents& contents);

}  // namespace aoti_dbg::ring
