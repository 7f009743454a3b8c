// The recording of one process: its log, its flight ring, its threads and its counts. Made at the first call
// that is looked at; a fork's child makes its own.
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
    /// Opens what the options ask for. What cannot be opened is said once and left out.
    Session(const Options& options, const Origin& start);

    /// Takes a free thread state or makes one. Null only without memory.
    ThreadState* attach_thread();
    /// The calling thread ends.
    void detach_thread(ThreadState* state);

    [[nodiscard]] std::uint64_t next_seq() { return seq_.fetch_add(1, std::memory_order_relaxed) + 1; }
    [[nodiscard]] std::uint64_t last_seq() const { return seq_.load(std::memory_order_relaxed); }
    [[nodiscard]] std::uint32_t next_run() { return runs_.fetch_add(1, std::memory_order_relaxed); }
    [[nodiscard]] LineLog* log() { return log_.get(); }
    [[nodiscard]] FlightRing* ring() { return ring_.get(); }
    [[nodiscard]] const FlightRing* ring() const { return ring_.get(); }
    [[nodiscard]] pid_t pid() const { return pid_; }
    /// Null where nothing is measured.
    [[nodiscard]] Measurer* measurer() { return measurer_; }
    [[nodiscard]] MeasuredOutput* output() { return output_; }

    /// Made at the first call; null where nothing is saved.
    [[nodiscard]] Saving* saving();
    /// The same, if it was made.
    [[nodiscard]] Saving* present_saving() { return saving_.load(std::memory_order_acquire); }

    /// Decided and made at the first launch; null where launches get no completion markers.
    [[nodiscard]] CompletionMarkers* markers() {
        return has_decided_markers_.load(std::memory_order_acquire) ? present_markers() : decide_markers();
    }
    /// The same, if it was made.
    [[nodiscard]] CompletionMarkers* present_markers() { return markers_.load(std::memory_order_acquire); }
    /// The map of allocations, beside the ring: made at the first call; null where there is none.
    [[nodiscard]] AllocationFile* allocations();
    /// The same, if it was made.
    [[nodiscard]] AllocationFile* present_allocations() {
        return allocations_.load(std::memory_order_acquire);
    }

    /// The map of tensors, beside them: made at the first tensor; null where there is none.
    [[nodiscard]] TensorMapFile* tensor_map() {
        TensorMapFile* const map = tensor_map_.load(std::memory_order_acquire);
        return map != nullptr ? map : make_tensor_map();
    }

    /// What is told of this process beside them; null where nothing is.
    [[nodiscard]] ProcessNotes* notes() { return notes_; }

    /// The folder for everything; empty where nothing is written, or it cannot be made.
    [[nodiscard]] const std::string& folder() const { return folder_; }

    /// The driver writes it when something faults.
    void expect_fault_dump(const std::string& path) {
        fault_dump_.store(new std::string(path), std::memory_order_release);
    }

    /// A thread is about to make its first call.
    void note_first_call() {
        if (has_calls_.exchange(true, std::memory_order_relaxed)) return;
        count_in_tally(TallyCount::recording);
        keep_evidence_of_models();
    }
    /// Whether note_first_call() was here: then models that arrive are on record.
    [[nodiscard]] bool has_calls() const { return has_calls_.load(std::memory_order_relaxed); }

    /// Readers of the ring know every name up to `id` afterwards. Cheap when they do already.
    void publish_name(std::uint32_t id) {
        if (ring_ && id >= published_.load(std::memory_order_acquire)) publish_names(id);
    }
    /// Likewise every context that has a number.
    void publish_contexts() {
        if (ring_ && contexts_published_.load(std::memory_order_relaxed) != context_changes())
            publish_numbered_contexts();
    }

    /// Calls `look` with the state of each living thread, threads_mutex held. False where it could not be
    /// had.
    template <typename Look>
    bool for_each_thread(Look look) {
        if (!lock_with_deadline(wiped_page().threads_mutex)) return false;
        const std::lock_guard lock(wiped_page().threads_mutex, std::adopt_lock);
        for (ThreadState* state : threads_)
            look(*state);
        return true;
    }

    /// Closes log and ring in good order and says what was covered. Whether something failed, was found, or
    /// has faulted.
    bool end();
    /// Behind everything: a folder that was made because the chosen one could not be had goes, unless there
    /// is a report in it or what was asked for. Allocates nothing.
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
    ProcessNotes* notes_ = nullptr;     // never freed: threads may be inside
    MeasuredOutput* output_ = nullptr;  // as the measurer: never freed, threads may be inside
    Measurer* measurer_ = nullptr;
    std::mutex saving_mutex_;  // who makes it
    std::atomic<bool> may_save_{false};
    std::atomic<Saving*> saving_{nullptr};
    std::mutex markers_mutex_;  // who decides
    std::atomic<bool> has_decided_markers_{false};
    std::atomic<CompletionMarkers*> markers_{nullptr};  // never freed: threads may be inside
    std::mutex maps_mutex_;                             // who makes one
    std::atomic<bool> may_map_allocations_{false};
    std::atomic<bool> may_map_tensors_{false};
    std::atomic<AllocationFile*> allocations_{nullptr};    // never freed: threads may be inside
    std::atomic<TensorMapFile*> tensor_map_{nullptr};      // likewise
    std::atomic<const std::string*> fault_dump_{nullptr};  // never freed: read at the end, whenever that is
    std::atomic<bool> has_calls_{false};
    std::atomic<std::uint64_t> seq_{0};
    std::atomic<std::uint32_t> runs_{0};
    std::atomic<std::uint32_t> published_{0};
    std::atomic<std::uint32_t> contexts_published_{0};
    std::vector<ThreadState*> threads_;  // all that were ever made, by threads_mutex
    std::vector<ThreadState*> free_;     // those of threads that have ended
    Counts ended_counts_;                // of threads that have ended
};

}  // namespace aoti_dbg
