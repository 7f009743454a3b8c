// The threads that write saved tensors, and the queue before them. Whoever has a tensor's bytes opens a job,
// appends chunks of them in order, and closes it; everything else is done by threads of ours, which have
// file descriptors of their own (own_descriptors.hpp) and so speak through another one.
//
// A job is with one thread at a time; one whose chunks are not there yet waits without a thread. The chunks
// of a large one are parts, which any thread writes. Nothing of this is there in a fork's child: it belongs
// to the session.
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
#include "shim/save/save_progress.hpp"
#include "shim/save/save_status.hpp"
#include "shim/save/tensor_job.hpp"
#include "shim/save/tensor_saver.hpp"

namespace aoti_dbg {

/// Of the options, as far as they say; `out` is the session's folder, `here` the working directory.
SavingSettings saving_settings(const Options& options, const std::string& out, const std::string& here,
                               const HeaderFacts& header);

class TensorWriters {
  public:
    /// Makes the folder, the index and `threads` threads (0: as many as do well here). Never freed: threads
    /// may be inside until the process ends.
    static Result<TensorWriters*> start(const SavingSettings& settings, std::uint32_t threads);
    /// A job for a tensor; null where it is not to be saved, or the queue had no room for so long. The queue
    /// counts tensors: their bytes are bounded by who has the memory.
    SavingJob* open(const TensorToSave& what, std::uint32_t patience_ms = 10000);
    /// A tensor for which no job is opened, since it is too large or nobody knows its bytes.
    void leave_out(LeftOut why) { saver_->count_left_out(why); }
    /// Likewise, where is_stopped().
    void leave_out_when_stopped() { leave_out(saver_->is_stopped() ? LeftOut::stopped : LeftOut::late); }
    /// What is known of it before its first bytes are appended: then one that equals a saved one is not
    /// written at all. To be said again by close().
    void expect(SavingJob* job, const SavedFacts& facts);
    /// The next bytes of its storage. They are read until `release` is called, which may be at once.
    void append(SavingJob* job, const TensorChunk& chunk);
    /// All bytes were appended. The job must not be used any more.
    void close(SavingJob* job, const SavedFacts& facts);
    /// Instead of these three: all of it at once, where one chunk has it (or none: it is empty) behind so
    /// many zeros.
    void hand_over(SavingJob* job, const SavedFacts& facts, std::uint64_t zeros, const TensorChunk& chunk);
    /// The rest of its bytes will not come. The job must not be used any more.
    void give_up(SavingJob* job);
    /// No more tensors of this run are opened.
    void end_of_run(std::uint32_t run, bool had_finding);

    /// Nothing is saved any more: no need to copy anything.
    [[nodiscard]] bool is_stopped() const {
        return saver_->is_stopped() || is_ending_.load(std::memory_order_relaxed);
    }
    SaveProgress progress();

    /// Waits until everything that was closed is on disk; false where it is not by then.
    bool drain(std::uint32_t patience_ms);
    /// The same, and then the end: the index gets its last line, the threads go. What is not written by then
    /// is left out. Allocates nothing and takes no lock without a deadline: it may be called by a signal
    /// handler on the way out.
    bool finish(std::uint32_t patience_ms);
    /// The same at the end of the process, however long it takes, as long as something comes to disk within
    /// `patience_ms`. Who is at a terminal sees how far it is, and the second SIGINT abandons it. Likewise.
    bool finish_unless_interrupted(std::uint32_t patience_ms);
    /// What waits is left out, what is half written goes; finish() is quick then. Likewise.
    void abandon();

    [[nodiscard]] const TensorSaver& saver() const { return *saver_; }
    /// Whether the threads have descriptors of their own; known once something was written.
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
    [[nodiscard]] SaveProgress numbers() const;

    const std::uint32_t wanted_;  // threads
    SaveStatus save_status_;
    WriteBack write_back_;
    std::unique_ptr<TensorSaver> saver_;

    std::mutex mutex_;  // of the queue; held for no system call and no call of the saver's
    std::condition_variable work_;
    std::condition_variable room_;
    std::deque<Job*> ready_;
    std::deque<Part> parts_;
    std::vector<std::unique_ptr<Job>> all_;
    std::vector<Job*> free_;
    std::uint32_t open_jobs_ = 0;
    std::uint32_t threads_ = 0;
    bool has_chores_ = false;
    bool is_over_ = false;  // no thread takes anything any more

    std::atomic<std::uint64_t> unfinished_{0};  // closed, and not over
    std::atomic<std::uint64_t> bytes_appended_{0};
    std::atomic<std::uint64_t> bytes_handled_{0};
    std::atomic<bool> has_own_descriptors_{false};
    std::atomic<bool> is_ending_{false};
    std::atomic<bool> is_late_{false};
    std::atomic<bool> is_abandoned_{false};
    std::atomic<bool> has_ended_{false};
};

}  // namespace aoti_dbg
