// The threads that write saved tensors, and their queue. A producer opens a job, appends chunks in order and
// closes it. The threads have descriptors of their own (own_descriptors.hpp), so the
// program's threads print for them. One thread at a time works on a job, and a job without chunks needs no
// thread. Any thread may write a part, which is a chunk of a large job. A forked child inherits none of this:
// it belongs to the session.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "config/options.hpp"
#include "shim/save/held_messages.hpp"
#include "shim/save/tensor_job.hpp"
#include "shim/save/tensor_saver.hpp"

namespace aoti_dbg {

/// Derives the settings from the options. `out` is the session's folder, `here` the working directory.
SavingSettings saving_settings(const Options& options, const std::string& out, const std::string& here,
                               const HeaderFacts& header);

struct SaveProgress {
    std::uint64_t files = 0;  // on disk, including links
    std::uint64_t linked = 0;
    std::uint64_t removed = 0;    // tensors removed with their runs
    std::uint64_t bytes = 0;      // written
    std::uint64_t jobs_left = 0;  // tensors that were handed over completely
    std::uint64_t bytes_left = 0;
    std::uint64_t bytes_handled = 0;  // written, linked or left out
    std::uint64_t left_out = 0;       // tensors left out for any other reason
};

/// The program's threads call open(), leave_out() and end_of_run(), which also print held messages and, on a
/// terminal, the progress of a long save.
class TensorWriters {
  public:
    /// Creates the folder, the index and `threads` threads (0: a number that suits this machine). The object
    /// is never freed, because threads may use it until the process ends.
    static Result<TensorWriters*> start(const SavingSettings& settings, std::uint32_t threads);
    /// Opens a job for a tensor. Returns null if it is not to be saved or the queue stayed full for
    /// `patience_ms`. The queue counts tensors. The owner of the memory bounds their bytes.
    SavingJob* open(const TensorToSave& what, std::uint32_t patience_ms = 10000);
    /// Counts a tensor without a job, for example one that is too large or whose bytes are unknown.
    void leave_out(LeftOut why);
    /// Counts a tensor without a job when is_stopped().
    void leave_out_when_stopped() { leave_out(saver_->is_stopped() ? LeftOut::stopped : LeftOut::late); }
    /// Announces facts before the first chunk, so that a tensor equal to a saved one is not written at all.
    /// Pass the same facts to close() again.
    void expect(SavingJob* job, const SavedFacts& facts);
    /// Appends the next bytes of the storage. The bytes must stay valid until `release` is called, possibly
    /// before this returns.
    void append(SavingJob* job, const TensorChunk& chunk);
    /// Ends the job after its last chunk. The job must not be used any more.
    void close(SavingJob* job, const SavedFacts& facts);
    /// Replaces expect(), append() and close() for a tensor that is one chunk after `zeros` zeros. An empty
    /// tensor has an empty chunk.
    void hand_over(SavingJob* job, const SavedFacts& facts, std::uint64_t zeros, const TensorChunk& chunk);
    /// Ends the job without the rest of its bytes. The job must not be used any more.
    void give_up(SavingJob* job);
    /// See TensorSaver.
    bool begin_run_file(std::uint32_t run) { return saver_->begin_run_file(run); }
    void end_run_file(std::uint32_t run) { saver_->end_run_file(run); }
    /// Makes finish() remove all runs that may be removed.
    void remove_all_at_end() { removes_all_.store(true, std::memory_order_relaxed); }
    /// Records that no more tensors of this run are opened.
    void end_of_run(std::uint32_t run, bool had_finding);

    /// Returns whether saving has ended, so that copying is pointless.
    [[nodiscard]] bool is_stopped() const {
        return saver_->is_stopped() || is_ending_.load(std::memory_order_relaxed);
    }
    [[nodiscard]] SaveProgress progress() const;

    /// Waits until every closed job is on disk. Returns false on timeout.
    bool drain(std::uint32_t patience_ms);
    /// Drains for at most some seconds. Stops after a second in which nothing reaches the disk. A signal
    /// handler may call this.
    void drain_while_writing();
    /// Drains, writes the last line of the index and ends the threads. Jobs that are not written by then are
    /// left out. Allocates nothing and takes no lock without a deadline, so a signal handler may call it on
    /// the way out.
    bool finish(std::uint32_t patience_ms);
    /// Finishes at process exit and waits as long as something reaches the disk within each `patience_ms`.
    /// Prints the progress every few seconds. The second SIGINT abandons the rest. A signal handler may call
    /// this too.
    bool finish_unless_interrupted(std::uint32_t patience_ms);
    /// Leaves out waiting jobs and discards unfinished files, so that finish() is quick. A signal handler may
    /// call this too.
    void abandon();

    [[nodiscard]] const TensorSaver& saver() const { return *saver_; }
    /// Returns whether the threads have descriptors of their own. Known once something was written.
    [[nodiscard]] bool has_own_descriptors() const {
        return has_own_descriptors_.load(std::memory_order_relaxed);
    }

  private:
    struct Job;
    struct Part;
    explicit TensorWriters(std::uint32_t threads);
    ~TensorWriters();
    static void* run_first(void* writers);
    static void* run_other(void* writers);
    void run();
    void work();
    void serve(Job& job, TensorSaver::Hand& hand, std::unique_lock<std::mutex>& lock);
    struct Visit;
    void visit(Job& job, TensorSaver::Hand& hand, Visit& visit);
    void take_chunks(Job& job, Visit& visit);
    void end_if_complete(Job& job, TensorSaver::Hand& hand, Visit& visit);
    void write_part(Part part, std::unique_lock<std::mutex>& lock);
    [[nodiscard]] std::optional<LeftOut> why_over() const;
    void write_chunk(Job& job, const TensorChunk& chunk, bool is_last);
    void release(const TensorChunk& chunk);
    enum class Place : std::uint8_t { front, back };
    void make_ready(Job& job, Place place = Place::back);
    void wake();
    void leave_rest();
    [[nodiscard]] std::uint64_t handled() const;
    void print_news();
    [[nodiscard]] bool is_progress_due();
    void print_progress(const char* hint) const;

    const std::uint32_t requested_;  // number of threads
    HeldMessages messages_;
    WriteBack write_back_;
    std::unique_ptr<TensorSaver> saver_;

    std::mutex mutex_;  // guards the queue; not held during system or saver calls
    std::condition_variable work_;
    std::condition_variable room_;
    std::deque<Job*> ready_;
    std::deque<Part> parts_;
    std::vector<std::unique_ptr<Job>> all_;
    std::vector<Job*> free_;
    std::uint32_t open_jobs_ = 0;
    std::uint32_t threads_ = 0;
    bool has_chores_ = false;
    bool is_over_ = false;  // threads take no more work

    std::atomic<std::uint64_t> unfinished_{0};  // closed but not over
    std::atomic<std::uint64_t> bytes_appended_{0};
    std::atomic<std::uint64_t> bytes_handled_{0};
    std::atomic<std::uint64_t> next_progress_{0};  // time of the next line
    std::atomic<bool> has_own_descriptors_{false};
    std::atomic<bool> removes_all_{false};
    std::atomic<bool> is_ending_{false};
    std::atomic<bool> is_late_{false};
    std::atomic<bool> is_abandoned_{false};
    std::atomic<bool> has_ended_{false};
};

}  // namespace aoti_dbg
