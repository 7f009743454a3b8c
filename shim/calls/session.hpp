// The recording of one process: its log, flight recorder ring, threads and counts. It is created at the first
// recorded call. A forked child creates its own.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "config/options.hpp"
#include "shim/calls/coverage.hpp"
#include "shim/calls/models.hpp"
#include "shim/calls/parts.hpp"
#include "shim/calls/session_part.hpp"
#include "shim/record/flight_ring.hpp"
#include "shim/record/line_log.hpp"
#include "shim/runtime/deadline_lock.hpp"
#include "shim/runtime/launch_count.hpp"
#include "shim/runtime/process.hpp"
#include "shim/runtime/tally.hpp"

struct CUctx_st;  // of cuda.h

namespace aoti_dbg {

class CoverageLine;
class ProcessNotes;
struct ThreadState;

class Session {
  public:
    /// Opens what the options request. If something cannot be opened, warns once and continues without it.
    Session(const Options& options, const Origin& start);

    /// Reuses a free thread state or creates one. Returns null only if memory runs out.
    ThreadState* attach_thread();
    /// Call this when the calling thread ends.
    void detach_thread(ThreadState* state);

    [[nodiscard]] std::uint64_t next_seq() { return seq_.fetch_add(1, std::memory_order_relaxed) + 1; }
    [[nodiscard]] std::uint64_t last_seq() const { return seq_.load(std::memory_order_relaxed); }
    [[nodiscard]] std::uint32_t next_run() { return runs_.fetch_add(1, std::memory_order_relaxed); }
    [[nodiscard]] LineLog* log() { return log_.get(); }
    [[nodiscard]] FlightRing* ring() { return ring_.get(); }
    [[nodiscard]] const FlightRing* ring() const { return ring_.get(); }
    [[nodiscard]] pid_t pid() const { return pid_; }
    /// True if this process is the one that the user started.
    [[nodiscard]] bool is_start() const { return is_start_; }
    [[nodiscard]] std::uint64_t begun_unix_ns() const { return begun_unix_ns_; }

    /// Call this only from start_session_parts().
    template <typename Part>
    Part& add(std::unique_ptr<Part> part) {
        part_list_.at(part_count_++) = part.get();
        return parts_by_type_.add(std::move(part));
    }
    /// Returns the part of that type, or null if its feature is off.
    template <typename Part>
    [[nodiscard]] Part* part() const {
        return parts_by_type_.find<Part>();
    }

    /// Returns the facts about this process, or null if none are recorded.
    [[nodiscard]] ProcessNotes* notes() { return notes_; }

    /// Returns the output folder, or "" if nothing is written or the folder cannot be created.
    [[nodiscard]] const std::string& folder() const { return folder_; }

    /// Call this when a thread is about to make its first call.
    void note_first_call() {
        if (has_calls_.exchange(true, std::memory_order_relaxed)) return;
        count_in_tally(TallyCount::recording);
        keep_evidence_of_models();
    }
    /// Returns true after note_first_call(). Models that load from then on are recorded.
    [[nodiscard]] bool has_calls() const { return has_calls_.load(std::memory_order_relaxed); }

    /// Publishes every name up to `id` to readers of the ring. It is cheap if they are already published.
    void publish_name(std::uint32_t id) {
        if (ring_ && id >= published_.load(std::memory_order_acquire)) publish_names(id);
    }
    /// Publishes every numbered context to readers of the ring. It is cheap if nothing changed.
    void publish_contexts() {
        if (ring_ && contexts_published_.load(std::memory_order_relaxed) != context_changes())
            publish_numbered_contexts();
    }

    /// Calls `look` with the state of each live thread, with threads_mutex held. Returns false if the mutex
    /// stays locked.
    template <typename Look>
    bool for_each_thread(Look look) {
        if (!lock_with_deadline(wiped_page().threads_mutex)) return false;
        const std::lock_guard lock(wiped_page().threads_mutex, std::adopt_lock);
        for (ThreadState* state : threads_)
            look(*state);
        return true;
    }

    /// Call these before a context, or all contexts of a device, are destroyed.
    void context_ends(CUctx_st* context);
    void device_ends(int device);
    void device_context_may_end(int device);

    /// Returns true if a call returned an error or was unwound by an exception.
    [[nodiscard]] bool has_failed_call();

    /// Closes log and ring and prints the coverage. Returns true if there was a failure, a finding or a
    /// fault.
    bool end();
    /// Call this after everything else. Removes a folder that replaced an unusable output folder, unless it
    /// contains a report or files of a feature. Allocates nothing.
    void leave_private_folder();

  private:
    void open_folder(const Options& options, const Origin& start);
    bool open_private_folder(const Options& options, const Status& why);
    void open_ring(const Options& options);
    void publish_names(std::uint32_t id);
    void publish_numbered_contexts();
    void add_counts(Counts& all);
    void close_parts(std::span<const NamedCount> counts);
    void append_coverage(const Counts& all, CoverageLine& line);
    [[nodiscard]] std::span<SessionPart* const> parts() const { return {part_list_.data(), part_count_}; }

    pid_t pid_;
    bool is_start_;
    std::uint64_t begun_unix_ns_;
    std::string folder_;
    bool is_private_ = false;
    std::unique_ptr<LineLog> log_;
    std::unique_ptr<FlightRing> ring_;
    ProcessNotes* notes_ = nullptr;  // never freed: threads may be using it
    std::size_t part_count_ = 0;
    std::array<SessionPart*, 13> part_list_{};
    Parts parts_by_type_;
    std::atomic<bool> has_calls_{false};
    std::atomic<std::uint64_t> seq_{0};
    std::atomic<std::uint32_t> runs_{0};
    std::atomic<std::uint32_t> published_{0};
    std::atomic<std::uint32_t> contexts_published_{0};
    std::vector<ThreadState*> threads_;  // all states ever created, guarded by threads_mutex
    std::vector<ThreadState*> free_;     // states of ended threads
    Counts ended_counts_;                // counts of ended threads
};

/// Call these before a context, or all contexts of a device, are destroyed. They pass the call to the parts
/// of the current session.
void end_context_in_session(CUctx_st* context);
void end_device_in_session(int device);
void release_context_in_session(int device);

}  // namespace aoti_dbg
