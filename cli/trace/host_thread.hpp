// The slices of one host thread in a trace. A recording has calls with two sides, calls with one side only
// and records of the ring, which lack details. This keeps their slices nested, which Perfetto requires: no
// slice starts or ends before the one written last.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "cli/trace/trace_packets.hpp"
#include "serializer/flight_ring_reader.hpp"

namespace aoti_dbg::cli {

struct OpenSlice {
    std::uint64_t sequence = 0;
    std::uint64_t end_ns = 0;  // from the ring; 0: unknown
    std::uint32_t run = ring::kNoRun;
    std::uint32_t depth = 0;
    bool is_run = false;    // a run has two slices: its model's and its own
    bool is_open = false;   // the ring shows that it did not end
    bool has_side = false;  // events have its start, so they have its end if they have ends at all
};

/// One record of the ring with its times.
struct TimedRecord {
    const ring::Record* record = nullptr;
    std::uint64_t begin_ns = 0;
    std::uint64_t end_ns = 0;
    std::uint32_t line = 0;  // of the wrapper source; 0: unknown
};

class HostThread {
  public:
    /// What writes the start of a slice for a record that events lack. It returns the slice to open.
    using Enter = std::function<void(const TimedRecord& record)>;

    HostThread(TracePackets& packets, std::uint64_t track, std::vector<TimedRecord> records)
        : packets_(packets), track_(track), records_(std::move(records)) {}

    [[nodiscard]] std::uint64_t track() const { return track_; }
    [[nodiscard]] const std::vector<OpenSlice>& open() const { return open_; }

    /// Returns `time_ns`, or the time of the last start or end if that is later.
    std::uint64_t advance(std::uint64_t time_ns);

    /// Enters the records before call `sequence`, which is entered next.
    void enter_records_before(std::uint64_t sequence, const Enter& enter);
    /// Enters the records inside call `sequence` of that depth, which ends at that time.
    void enter_records_inside(std::uint64_t sequence, std::uint32_t depth, std::uint64_t end_ns,
                              const Enter& enter);
    void enter_all_records(const Enter& enter);
    /// Returns the ring's record of a call, or null.
    [[nodiscard]] const TimedRecord* record_of(std::uint64_t sequence) const;

    /// Ends slices until the innermost one is shallower than `depth`.
    void close_to(std::uint32_t depth, std::uint64_t time_ns);
    void push(const OpenSlice& slice) { open_.push_back(slice); }
    /// Returns the index of an open slice, or the number of slices if it is not open.
    [[nodiscard]] std::size_t find(std::uint64_t sequence) const;
    [[nodiscard]] std::size_t find_run(std::uint32_t run) const;
    /// Ends the slices above `index`.
    void close_above(std::size_t index, std::uint64_t time_ns);
    /// Removes the innermost slice, whose end is written.
    void pop() { open_.pop_back(); }
    /// Ends what is open at the end of the recording. Calls that did not return stay open.
    void finish(bool has_ends);

  private:
    void close_innermost(std::uint64_t time_ns);
    void write_end(std::uint64_t time_ns, bool is_known);

    TracePackets& packets_;
    std::uint64_t track_;
    std::vector<TimedRecord> records_;  // by sequence
    std::size_t next_record_ = 0;
    std::vector<OpenSlice> open_;
    std::uint64_t last_ns_ = 0;
};

}  // namespace aoti_dbg::cli
