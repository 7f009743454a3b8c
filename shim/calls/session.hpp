// The recording of one process: its log, flight recorder ring, threads and counts. It is created at the first
// recorded call. A forked child creates its own.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "config/options.hpp"
#include "config/pattern.hpp"
#include "shim/calls/coverage.hpp"
#include "shim/calls/models.hpp"
#include "shim/record/flight_ring.hpp"
#include "shim/record/line_log.hpp"
#include "shim/runtime/deadline_lock.hpp"
#include "shim/runtime/launch_count.hpp"
#include "shim/runtime/process.hpp"
#include "shim/runtime/tally.hpp"

namespace aoti_dbg {

class AllocationFile;
class CompletionMarkers;
class MeasuredOutput;
class ProcessNotes;
class Measurer;
class Saving;
class TensorMapFile;
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
    /// Null if nothing is measured.
    [[nodiscard]] Measurer* measurer() { return measurer_; }
    [[nodiscard]] MeasuredOutput* output() { return output_; }

    /// Creates it at the first call. Returns null if nothing is saved.
    [[nodiscard]] Saving* saving();
    /// Returns null if it was not created yet.
    [[nodiscard]] Saving* present_saving() { return saving_.load(std::memory_order_acquire); }

    /// Decides and creates it at the first launch. Returns null if launches get no completion markers.
    [[nodiscard]] CompletionMarkers* markers() {
        return has_decided_markers_.load(std::memory_order_acquire) ? present_markers() : decide_markers();
    }
    /// Returns null if it was not created yet.
    [[nodiscard]] CompletionMarkers* present_markers() { return markers_.load(std::memory_order_acquire); }
    /// Returns the map of allocations next to the ring, created at the first call. Returns null if there is
    /// none.
    [[nodiscard]] AllocationFile* allocations();
    /// Returns null if it was not created yet.
    [[nodiscard]] AllocationFile* present_allocations() {
        return allocations_.load(std::memory_order_acquire);
    }

    /// Returns the map of tensors next to the ring, created at the first tensor. Returns null if there is
    /// none.
    [[nodiscard]] TensorMapFile* tensor_map() {
        TensorMapFile* const map = tensor_map_.load(std::memory_order_acquire);
        return map != nullptr ? map : make_tensor_map();
    }

    /// Returns the facts about this process, or null if none are recorded.
    [[nodiscard]] ProcessNotes* notes() { return notes_; }

    /// Returns the output folder, or "" if nothing is written or the folder cannot be created.
    [[nodiscard]] const std::string& folder() const { return folder_; }

    /// Sets the path to which the driver writes a core dump after a GPU fault.
    void expect_fault_dump(const std::string& path) {
        fault_dump_.store(new std::string(path), std::memory_order_release);
    }

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

    /// Closes log and ring and prints the coverage. Returns true if there was a failure, a finding or a
    /// fault.
    bool end();
    /// Call this after everything else. Removes a folder that replaced an unusable output folder, unless it
    /// contains a report or saved tensors. Allocates nothing.
    void leave_private_folder();

  private:
    void open_folder(const Options& options, const Origin& start);
    bool open_private_folder(const Options& options, const Status& why);
    void open_ring(const Options& options);
    void publish_names(std::uint32_t id);
    void publish_numbered_contexts();
    CompletionMarkers* decide_markers();
    TensorMapFile* make_tensor_map();
    void be_ready_to_report(const Options& options, std::uint64_t since_unix_ns, bool is_start);
    bool say_coverage(bool output_rests);

    pid_t pid_;
    std::string folder_;
    bool is_private_ = false;
    std::unique_ptr<LineLog> log_;
    std::unique_ptr<FlightRing> ring_;
    ProcessNotes* notes_ = nullptr;     // never freed: threads may be using it
    MeasuredOutput* output_ = nullptr;  // never freed, like the measurer: threads may be using them
    Measurer* measurer_ = nullptr;
    std::mutex saving_mutex_;  // guards the creation
    std::atomic<bool> may_save_{false};
    std::atomic<Saving*> saving_{nullptr};
    std::mutex markers_mutex_;  // guards the decision
    std::atomic<bool> has_decided_markers_{false};
    std::atomic<CompletionMarkers*> markers_{nullptr};  // never freed: threads may be using it
    std::mutex maps_mutex_;                             // guards the creation of a map
    std::atomic<bool> may_map_allocations_{false};
    std::atomic<bool> may_map_tensors_{false};
    std::atomic<AllocationFile*> allocations_{nullptr};    // never freed: threads may be using it
    std::atomic<TensorMapFile*> tensor_map_{nullptr};      // never freed: threads may be using it
    std::atomic<const std::string*> fault_dump_{nullptr};  // never freed, because exit reads it
    std::atomic<bool> has_calls_{false};
    std::atomic<std::uint64_t> seq_{0};
    std::atomic<std::uint32_t> runs_{0};
    std::atomic<std::uint32_t> published_{0};
    std::atomic<std::uint32_t> contexts_published_{0};
    std::vector<ThreadState*> threads_;  // all states ever created, guarded by threads_mutex
    std::vector<ThreadState*> free_;     // states of ended threads
    Counts ended_counts_;                // counts of ended threads
};

}  // namespace aoti_dbg
