// Reads a flight ring (flight_ring_format.hpp), also one that a live process is still writing or that a dying
// one left torn. Takes any bytes: what cannot be right is left out and noted; memory is bounded by the file's
// size and by kLargestFile. Must never trust a length it has read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "serializer/flight_ring_format.hpp"

namespace aoti_dbg::ring {

/// Files beyond this are refused: a ring of a thousand threads with the default capacity is a quarter of it.
inline constexpr std::uint64_t kLargestFile = 1ULL << 30U;

/// Whether the call had not come back, as far as the ring knows.
inline bool is_open(const Record& record) {
    return (record.flags & (kEnded | kUnwoundByException)) == 0;
}

struct Thread {
    std::uint32_t tid = 0;
    bool ended = false;
    std::uint64_t written = 0;    // records ever begun
    std::vector<Record> records;  // those still there and whole, by seq
};

/// The completion markers of one context of the device.
struct Markers {
    MarkersHeader header{};
    std::uint32_t first = 0;            // mark of the first stream
    std::vector<MarkedStream> streams;  // by mark
};

struct Contents {
    FileHeader header{};             // texts are NUL-terminated whatever the file said
    std::vector<std::string> names;  // by id; empty where the file does not say
    std::vector<Thread> threads;     // in the order of their blocks
    std::vector<Markers> markers;    // of each context that has some
    std::vector<std::string> notes;  // what was wrong and left out, a sentence each

    /// The name of an id; "?" for one that is not in the file.
    [[nodiscard]] std::string_view name(std::uint32_t id) const;
    /// Those that a launch's `mark` is one of; null for 0 and where the file does not have them.
    [[nodiscard]] const Markers* markers_of(std::uint32_t mark) const;
    /// That a launch went to, or a wait was of; null where it is not known.
    [[nodiscard]] const DeviceContext* context_of(const Record& record) const;
    /// Whether launches went to more than one.
    [[nodiscard]] bool has_several_devices() const;
};

struct Call {
    const Thread* thread;
    const Record* record;
};

/// Fails for what is not a ring, or a newer version; never for damage after the header.
Result<Contents> parse_flight_ring(std::string_view bytes);
Result<Contents> read_flight_ring(const std::string& path);

/// The records of all threads, by seq. They point into `contents`.
std::vector<Call> merged_calls(const Contents& contents);

}  // namespace aoti_dbg::ring
