// Turns the bytes of a tensor into a named file that the index lists. Handles names, the budget, links,
// files, the index and every failure. It has no thread and never blocks for long. Several threads may use it
// at once, each with its own job and hand. The program's threads create it, and ours use it.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/message.hpp"
#include "base/status.hpp"
#include "serializer/event_jsonl.hpp"
#include "shim/calls/run_files.hpp"
#include "shim/save/kept_runs.hpp"
#include "shim/save/save_budget.hpp"
#include "shim/save/saved_contents.hpp"
#include "shim/save/saved_counts.hpp"
#include "shim/save/tensor_folder.hpp"
#include "shim/save/tensor_index.hpp"
#include "shim/save/tensor_job.hpp"

namespace aoti_dbg {

struct SavingSettings {
    TensorFolder::Place place;
    HeaderFacts header;
    std::uint64_t max_bytes = UINT64_MAX;
    std::uint64_t max_files = UINT64_MAX;
    std::uint32_t keep_last = 0;
    bool only_findings = false;
    bool for_fault = false;  // keeps the last runs for a fault
    bool portable_names = false;
    RunFiles* run_files = nullptr;                       // go with the tensors of their run
    std::uint64_t least_dead = TensorIndex::kLeastDead;  // of the index, before it is compacted
};

class TensorSaver {
  public:
    /// The state of one writer thread.
    struct Hand {
        OpenFolder folder;  // folder of its last file
        OpenFolder root;
        std::string line;
    };
    /// Prints whole sentences. Any thread may call it.
    using Say = std::function<void(Severity, std::string)>;

    /// Creates the folder and the index.
    static Result<std::unique_ptr<TensorSaver>> make(const SavingSettings& settings, Say say,
                                                     const FileCalls& calls = system_file_calls());
    void keep_folders_open(bool keep) { folder_.keep_open(keep); }
    /// Sets the object that starts write-back of written files. This is off if a file may soon be removed or
    /// must not be opened twice.
    void report_writes_to(WriteBack* write_back) {
        const bool stays = !settings_.only_findings && settings_.keep_last == 0;
        if (stays && folder_.naming() != TensorFolder::Naming::from_hidden)
            folder_.report_writes_to(write_back);
    }

    /// Fills in `job` and assigns its name, in the order of calls. Makes no system call. Returns false if the
    /// tensor is not to be saved, in which case the job is over.
    bool open(const TensorToSave& what, SavingJob& job);

    /// Records that all bytes of the job are at hand. Call this once, from any thread.
    void note_complete(SavingJob& job);

    /// Call this before the first byte. `has_facts` means that the job's facts are known, so a tensor equal
    /// to a saved one is linked. `over` means that the job was linked or left out.
    /// `waits` means that a complete job with the same content is being written and nothing was done.
    /// take_freed_by() of that job returns this one. begin() never waits for an incomplete job: it may never
    /// complete, or it may need memory that the waiting jobs hold. Pass the whole storage as `whole` if the
    /// next write() gets all of it, which saves work for small tensors.
    enum class Begun : std::uint8_t { writes, over, waits };
    Begun begin(SavingJob& job, bool has_facts, Hand& hand, std::span<const std::byte> whole = {});
    /// Writes the next bytes, in the form of TensorChunk. `is_last` means that no more bytes follow and the
    /// facts are known.
    void write(SavingJob& job, std::span<const std::byte> bytes, bool is_last);
    /// Replaces write() if begin() set `in_parts`. Writes bytes at any offset of the storage, and any number
    /// of threads may call it at once. Extends the caller's checksum. Pass a failure to fail() once no thread
    /// writes any more.
    Failed write_part(SavingJob& job, std::uint64_t from, std::span<const std::byte> bytes,
                      std::uint32_t& crc);
    /// Writes the bytes before and after the storage once all parts are written. `crc` covers the whole
    /// storage.
    void write_frame(SavingJob& job, std::uint32_t crc);
    void fail(const Failed& failed, SavingJob& job);
    /// Call this after the last byte.
    void finish(SavingJob& job, Hand& hand);
    void leave_out(SavingJob& job, LeftOut why);
    /// Counts a tensor that was never opened.
    void count_left_out(LeftOut why);
    /// Returns the jobs that waited for `job`. Call this once the job is over.
    void take_freed_by(SavingJob& job, std::vector<SavingJob*>& freed);

    /// Announces and ends a file of `run_files`. Returns false if the run is being removed.
    bool begin_run_file(std::uint32_t run);
    void end_run_file(std::uint32_t run);

    void end_run(std::uint32_t run, bool had_finding);
    /// Removes all runs that may be removed. evict_one() does it.
    void remove_all_runs();
    /// Removes the files of one evicted run, or folders that no file was written to. Returns false if there
    /// is nothing to do.
    bool evict_one(Hand& hand);
    [[nodiscard]] bool has_to_evict();

    /// Writes the last line of the index.
    void end(std::string_view how);

    /// Returns whether saving has stopped for good.
    [[nodiscard]] bool is_stopped() const { return is_stopped_.load(std::memory_order_relaxed); }
    [[nodiscard]] const SavedCounts& counts() const { return counts_; }
    [[nodiscard]] const TensorFolder& folder() const { return folder_; }
    [[nodiscard]] std::string index_path() const { return index_.path(); }

  private:
    /// For one file, when other names exist already.
    static constexpr std::uint64_t kMostNamesTried = 100000;

    TensorSaver(const SavingSettings& settings, TensorFolder folder, Say say);

    void write_hole(SavingJob& job, std::uint64_t zeros);
    void settle_grant(SavingJob& job, std::uint64_t bytes);

    // tensor_saver_links.cpp
    enum class Linked : std::uint8_t { over, not_known };
    Linked link(SavingJob& job, const SavedFile& known, Hand& hand);
    Linked link_named(SavingJob& job, const SavedFile& known, bool is_written, Hand& hand);
    bool take_name(const SavingJob& job, const SavedFile& known);
    void give_name_back(const SavedFile& known);
    void note_on_disk(SavingJob& job);
    bool note_named(std::uint64_t content);
    std::uint64_t free_if_unnamed(std::uint64_t content);
    Linked name_the_same(SavingJob& job, const SavedFile& known, Hand& hand);
    Failed link_under_free_name(SavingJob& job, const SavedFile& known, Hand& hand);
    [[nodiscard]] bool is_unchanged(const SavedFile& known, const Hand& hand) const;
    [[nodiscard]] bool looks_for_equals() const;
    void remember(const SavingJob& job, Hand& hand);

    // tensor_saver_index.cpp
    bool append_to_index(SavingJob& job, const SavedFile* known, bool has_file, Hand& hand);

    // tensor_saver_runs.cpp
    void evict(const EvictedRun& evicted, Hand& hand);
    Failed remove_files(const EvictedRun& evicted, Hand& hand);
    void remove_folders(const std::set<std::string>& folders);
    void note_removed(const KeptFile& file, WhyEvicted why);
    bool wait_for_room(const SavingJob& job);

    // tensor_saver_room.cpp
    bool grant(SavingJob& job, std::uint64_t bytes, Hand& hand);
    void return_grant(SavingJob& job);
    SaveBudget::Answer ask(std::uint64_t bytes, Hand& hand);
    [[nodiscard]] std::uint64_t bytes_of_others() const;
    bool room_may_come();
    void refuse(SaveBudget::Answer answer, SavingJob& job);
    void stop(const std::string& line);
    enum Once : unsigned {
        at_cap = 1,
        at_disk = 2,
        at_limit = 4,
        at_memory = 8,
        at_removal = 16,
        at_room = 32
    };
    void say_once(Once what, const std::string& line);

    Failed enter(SavingJob& job, Hand& hand);
    Failed publish(SavingJob& job, Hand& hand);
    void count_gone(const SavingJob& job);
    void note_freed();
    std::uint64_t next_number(const SavingJob& job);
    void end_job(SavingJob& job, bool is_valid);

    const SavingSettings settings_;
    TensorFolder folder_;
    TensorIndex index_;
    std::mutex index_mutex_;
    Say say_;
    SavedCounts counts_;
    std::atomic<bool> is_stopped_{false};
    std::atomic<unsigned> said_{0};
    std::atomic<bool> has_links_{true};
    std::string why_stopped_;  // guarded by mutex_

    std::mutex mutex_;  // guards the members below; not held during system calls
    SaveBudget budget_;
    KeptRuns runs_;
    SavedContents contents_;
    // What is on disk, by our own content number, and how many names it has. Used if runs may be removed. The
    // file system's link count is unreliable, because users may link to files or remove them.
    struct OnDisk {
        std::uint64_t names = 0;
        std::uint64_t coming = 0;  // names that a thread is about to create
        std::uint64_t bytes = 0;
    };
    std::unordered_map<std::uint64_t, OnDisk> on_disk_;
    std::uint64_t last_content_ = 0;
    std::condition_variable room_freed_;
    std::uint64_t times_freed_ = 0;       // how often room may have become free
    std::uint64_t waited_since_ = ~0ULL;  // value of times_freed_ at the last wait in vain
    std::uint32_t removing_ = 0;          // threads that are removing files
    std::set<std::string> vain_folders_;  // created for files that do not exist; used if no run is removed
    struct Claim {
        const SavingJob* by;
        std::vector<SavingJob*> waiting;
    };
    std::unordered_map<ContentKey, Claim, ContentKey::Hasher> claimed_;
    std::unordered_map<std::uint64_t, std::uint32_t> numbers_;  // by a hash of the name
};

}  // namespace aoti_dbg
