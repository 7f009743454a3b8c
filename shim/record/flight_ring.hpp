// Writes the flight recorder ring (serializer/flight_ring_format.hpp): one file per process, one ring of
// records per thread. Starting or ending a record costs a few stores into a mapping. Everything else happens
// once per thread or name.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/cache_line.hpp"
#include "base/status.hpp"
#include "serializer/flight_ring_format.hpp"
#include "shim/record/mapped_entry.hpp"
#include "shim/record/preallocated_file.hpp"

namespace aoti_dbg {

/// The ring of one thread. Only that thread writes records. A null ring must not be written.
class ThreadRing {
  public:
    ThreadRing() = default;
    ThreadRing(ring::BlockHeader* header, ring::Record* records)
        : header_(header), records_(records), next_(place_of(header->written)) {}

    [[nodiscard]] explicit operator bool() const { return header_ != nullptr; }
    [[nodiscard]] ring::BlockHeader* header() const { return header_; }

    /// Returns the place of the next record. It is not a record until it is published, and belongs to it
    /// until `capacity` more records have started.
    [[nodiscard]] ring::Record& next() {
        ring::Record& place = *next_;
        publish(place.seq, std::uint64_t{0});
        order_stores();
        return place;
    }
    /// Publishes the record. The caller has written everything but its number.
    void publish_next(ring::Record& place, std::uint64_t seq) {
        publish(place.seq, seq);
        const std::uint64_t written = header_->written + 1;
        publish(header_->written, written);
        next_ = place_of(written);
        expect_to_write(next_);
    }
    /// Gives a record that is not published yet its line.
    void note_line(const ring::Record& place, std::uint32_t line) {
        auto* const lines = reinterpret_cast<std::uint32_t*>(records_ + header_->capacity);
        lines[&place - records_] = line;
    }
    /// Copies and publishes a complete record. Returns its place.
    ring::Record* begin(const ring::Record& record);
    /// Ends the record at `where`, which begin() returned. Does nothing if another record has taken the
    /// place.
    static void end(ring::Record* where, std::uint64_t seq, std::int32_t result, std::uint8_t flags,
                    std::uint64_t ticks) {
        if (where->seq != seq) return;
        where->result = result;
        where->flags = static_cast<std::uint8_t>(where->flags | flags);
        publish(where->end_ticks, ticks);
    }

  private:
    [[nodiscard]] ring::Record* place_of(std::uint64_t written) const {
        return &records_[written & (header_->capacity - 1)];
    }

    ring::BlockHeader* header_ = nullptr;
    ring::Record* records_ = nullptr;
    ring::Record* next_ = nullptr;  // the place of the next record
};

class FlightRing {
  public:
    /// `records` must be a power of two.
    static Result<std::unique_ptr<FlightRing>> create(const std::string& path, std::uint32_t records);

    /// Returns a ring for the calling thread, or a null one if the disk is full (warns once).
    ThreadRing add_thread();
    /// Call this when the thread ends. Its records stay readable until another thread needs the place.
    void retire_thread(ThreadRing ring);

    /// Publishes every name up to and including `id` to readers.
    void publish_names(std::uint32_t id);

    /// Returns room for the markers of `streams` streams of one context. The first stream gets the mark
    /// `first`. Returns null if the disk is full (warns once).
    ring::MarkersHeader* add_markers(std::uint32_t first, std::uint32_t streams);

    /// Context numbers start at 1.
    void note_context(std::uint8_t number, const ring::DeviceContext& context);
    void note_run_begun();
    /// Records the current time on both clocks. Readers use it to compute how long ago a call started.
    void note_moment();
    void note_end();
    /// Records the signal that is about to end the process, and the `address` it accessed if known. Only the
    /// first one counts. Safe in signal handlers.
    void note_signal(int signal, std::uint32_t thread, std::optional<std::uint64_t> address);
    /// The start time and the pid identify a ring.
    [[nodiscard]] std::uint64_t start_unix_ns() const { return header_->start_unix_ns; }
    [[nodiscard]] const char* path() const { return file_.path().c_str(); }

  private:
    FlightRing(PreallocatedFile file, ring::FileHeader* header, std::uint32_t records)
        : file_(std::move(file)), header_(header), records_(records) {}
    ring::BlockHeader* add_block(ring::BlockKind kind, std::size_t payload);
    void give_up(const Status& status);

    PreallocatedFile file_;
    ring::FileHeader* header_;
    std::uint32_t records_;
    std::mutex mutex_;  // guards the members below and the adding of blocks
    ring::BlockHeader* names_ = nullptr;
    std::uint32_t names_published_ = 0;
    std::deque<ThreadRing> ended_;
    bool full_ = false;
};

}  // namespace aoti_dbg
