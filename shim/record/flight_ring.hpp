// Writes the flight ring (serializer/flight_ring_format.hpp): one file a process, one ring of records a
// thread. Beginning and ending a record are a few stores into a mapping; everything else happens once a
// thread or a name.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/status.hpp"
#include "serializer/flight_ring_format.hpp"
#include "shim/record/mapped_entry.hpp"
#include "shim/record/preallocated_file.hpp"

namespace aoti_dbg {

/// The ring of one thread; only that thread writes records. A null ring takes and keeps nothing.
class ThreadRing {
  public:
    ThreadRing() = default;
    ThreadRing(ring::BlockHeader* header, ring::Record* records) : header_(header), records_(records) {}

    [[nodiscard]] explicit operator bool() const { return header_ != nullptr; }
    [[nodiscard]] ring::BlockHeader* header() const { return header_; }

    /// The place of the next record, which is none until it is published. It is that record's until capacity
    /// more have been begun.
    [[nodiscard]] ring::Record& next() {
        ring::Record& place = records_[header_->written & (header_->capacity - 1)];
        publish(place.seq, std::uint64_t{0});
        order_stores();
        return place;
    }
    /// All of it but its number has been written.
    void publish_next(ring::Record& place, std::uint64_t seq) {
        publish(place.seq, seq);
        publish(header_->written, header_->written + 1);
        expect_to_write(&records_[header_->written & (header_->capacity - 1)]);
    }
    /// Both, for a record that is there. Returns its place.
    ring::Record* begin(const ring::Record& record);
    /// `where` from begin(); does nothing when another record has taken the place.
    static void end(ring::Record* where, std::uint64_t seq, std::int32_t result, std::uint8_t flags,
                    std::uint64_t ticks);

  private:
    ring::BlockHeader* header_ = nullptr;
    ring::Record* records_ = nullptr;
};

class FlightRing {
  public:
    /// `records` is a power of two.
    static Result<std::unique_ptr<FlightRing>> create(const std::string& path, std::uint32_t records);

    /// A ring for the calling thread; a null one when the disk is full (said once).
    ThreadRing add_thread();
    /// The thread ends; its records stay readable until the place is needed.
    void retire_thread(ThreadRing ring);

    /// Makes every name up to and including `id` known to readers.
    void publish_names(std::uint32_t id);

    /// Room for the markers of one context: so many streams, the first with the mark `first`. Null when the
    /// disk is full (said once).
    ring::MarkersHeader* add_markers(std::uint32_t first, std::uint32_t streams);

    /// Those have numbers from 1.
    void note_context(std::uint8_t number, const ring::DeviceContext& context);
    void note_run_begun();
    /// That it is this moment on both clocks: from it readers tell how long ago a call began.
    void note_moment();
    void note_end();
    /// The process is about to end by it, for an access of `address` where that is known; the first counts.
    /// For signal handlers.
    void note_signal(int signal, std::uint32_t thread, std::optional<std::uint64_t> address);
    /// By it and the process's number a ring is told from all others.
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
    std::mutex mutex_;  // of what follows and of adding blocks
    ring::BlockHeader* names_ = nullptr;
    std::uint32_t names_published_ = 0;
    std::deque<ThreadRing> ended_;
    bool full_ = false;
};

}  // namespace aoti_dbg
