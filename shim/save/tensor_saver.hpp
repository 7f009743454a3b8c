// From "these bytes are the tensor's" to "the file stands under its name and the index names it": names,
// budget, links, files, index, and what becomes of each failure. Has no thread and waits for nobody; several
// threads may be inside, each with a job and a hand of its own. Made by the program's threads, used by ours.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/message.hpp"
#include "base/status.hpp"
#include "serializer/event_jsonl.hpp"
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
    bool portable_names = false;
    std::uint64_t least_dead = TensorIndex::kLeastDead;  // of the index, before it is compacted
};

class TensorSaver {
  public:
    /// What a thread works with.
    struct Hand {
        OpenFolder folder;  // of its last file
        OpenFolder root;
        std::string line;
    };
    /// Takes whole sentences, from any of the threads inside.
    using Say = std::function<void(Severity, std::string)>;

    /// Makes the folder and the index.
    static Result<std::unique_ptr<TensorSaver>> make(const SavingSettings& settings, Say say,
                                                     const FileCalls& calls = system_file_calls());
    void keep_folders_open(bool keep) { folder_.keep_open(keep); }
    /// Whoever has the disk begin with what is written, unless it may soon be removed, or must not be open a
    /// second time.
    void tell_of_writes(WriteBack* write_back) {
        const bool stays = !settings_.only_findings && settings_.keep_last == 0;
        if (stays && folder_.naming() != TensorFolder::Naming::from_hidden)
            folder_.tell_of_writes(write_back);
    }

    /// Fills `job` in and gives it its name, in the order of the calls. No system call. False where it is not
    /// to be saved; then the job is over.
    bool open(const TensorToSave& what, SavingJob& job);

    /// Nobody adds to its bytes any more. From any thread, once.
    void note_complete(SavingJob& job);

    /// Before its first byte. `is_reported`: its facts are known; then one that equals a saved one is linked.
    /// A job that is over afterwards was linked, or left out. `waits` if another one with the same content,
    /// which is complete, is written at this moment: then nothing was done, and take_freed_by() of that job
    /// gives this one back. One that is not complete is not waited for: it may need the memory that those who
    /// wait hold, or never be.
    enum class Begun : std::uint8_t { writes, over, waits };
    Begun begin(SavingJob& job, bool is_reported, Hand& hand);
    /// The next bytes, as TensorChunk has them. `is_last`: no more come, and the facts are known.
    void write(SavingJob& job, std::span<const std::byte> bytes, bool is_last);
    /// Instead, where begin() has set `in_parts`: bytes of the storage from anywhere on, by any threads at
    /// once. Adds them to their own checksum. What fails is for fail(), when no thread writes any more.
    Failed write_part(SavingJob& job, std::uint64_t from, std::span<const std::byte> bytes,
                      std::uint32_t& crc);
    /// When all parts are written: what is before and behind them. `crc` is that of the whole storage.
    void write_frame(SavingJob& job, std::uint32_t crc);
    void fail(const Failed& failed, SavingJob& job);
    /// Behind the last byte.
    void finish(SavingJob& job, Hand& hand);
    void leave_out(SavingJob& job, LeftOut why);
    /// Of a tensor that was never opened.
    void count_left_out(LeftOut why);
    /// To be asked once a job is over: what waited for it.
    void take_freed_by(SavingJob& job, std::vector<SavingJob*>& freed);

    void end_run(std::uint32_t run, bool had_finding);
    /// Removes the files of one run that goes, or folders that no file came to. False if there is nothing to
    /// do.
    bool evict_one(Hand& hand);
    [[nodiscard]] bool has_to_evict();

    /// The last line of the index.
    void end(std::string_view how);

    /// Nothing is saved any more.
    [[nodiscard]] bool is_stopped() const { return is_stopped_.load(std::memory_order_relaxed); }
    [[nodiscard]] const SavedCounts& counts() const { return counts_; }
    [[nodiscard]] const TensorFolder& folder() const { return folder_; }
    [[nodiscard]] std::string index_path() const { return index_.path(); }

  private:
    TensorSaver(const SavingSettings& settings, TensorFolder folder, Say say);

    void write_hole(SavingJob& job, std::uint64_t zeros);
    void close_unwound_calls(SavingJob& job, std::uint64_t bytes);

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
    [[nodiscard]] bool still_stands(const SavedFile& known, const Hand& hand) const;
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
    void end_job(SavingJob& job, bool stands);

    const SavingSettings settings_;
    TensorFolder folder_;
    TensorIndex index_;
    std::mutex index_mutex_;
    Say say_;
    SavedCounts counts_;
    std::atomic<bool> is_stopped_{false};
    std::atomic<unsigned> said_{0};
    std::atomic<bool> has_links_{true};
    std::string why_stopped_;  // by mutex_

    std::mutex mutex_;  // of what follows; held for no system call
    SaveBudget budget_;
    KeptRuns runs_;
    SavedContents contents_;
    // Where runs may go: what is on disk, by a number of ours, and how many names of ours it has. The file
    // system's count does not tell, since the person may link to files as well, or remove them.
    struct OnDisk {
        std::uint64_t names = 0;
        std::uint64_t coming = 0;  // names that a thread is about to give it
        std::uint64_t bytes = 0;
    };
    std::unordered_map<std::uint64_t, OnDisk> on_disk_;
    std::uint64_t last_content_ = 0;
    std::condition_variable room_freed_;
    std::uint64_t times_freed_ = 0;       // how often room may have become free
    std::uint64_t waited_since_ = ~0ULL;  // of these, when it was waited for in vain
    std::uint32_t removing_ = 0;          // threads that remove files
    std::set<std::string> vain_folders_;  // where all runs stay: made for files that do not stand
    struct Claim {
        const SavingJob* by;
        std::vector<SavingJob*> waiting;
    };
    std::unordered_map<ContentKey, Claim, ContentKey::Hasher> claimed_;
    std::unordered_map<std::uint64_t, std::uint32_t> numbers_;  // of names, by a hash of the name
};

}  // namespace aoti_dbg
