// Removes runs: their index entries, files and folders. Frees their room.

#include <cerrno>
#include <chrono>
#include <utility>

#include "base/file_failure.hpp"
#include "serializer/tensor_index_jsonl.hpp"
#include "shim/save/tensor_saver.hpp"

namespace aoti_dbg {
namespace {

// How long to wait for files of a removed run that other threads are writing. A file that takes longer may
// lack bytes that come much later.
constexpr std::chrono::milliseconds kForOthers{100};

}  // namespace

bool TensorSaver::begin_run_file(std::uint32_t run) {
    if (is_stopped()) return false;
    const std::lock_guard lock(mutex_);
    return runs_.begin_file(run);
}

void TensorSaver::end_run_file(std::uint32_t run) {
    const std::lock_guard lock(mutex_);
    runs_.end_other_file(run);
}

void TensorSaver::remove_all_runs() {
    const std::lock_guard lock(mutex_);
    runs_.remove_all();
}

bool TensorSaver::evict_one(Hand& hand) {
    std::optional<EvictedRun> evicted;
    std::vector<std::string> empty;
    {
        const std::lock_guard lock(mutex_);
        empty = runs_.take_empty_folders();
        evicted = runs_.take_evicted();
        if (evicted) ++removing_;
    }
    if (!empty.empty()) remove_folders({empty.begin(), empty.end()});
    if (!evicted) return !empty.empty();
    evict(*evicted, hand);
    const std::lock_guard lock(mutex_);
    --removing_;
    note_freed();
    return true;
}

void TensorSaver::evict(const EvictedRun& evicted, Hand& hand) {
    // These go first: without the tensors they are of no use, even if the process is killed now.
    if (settings_.run_files != nullptr) settings_.run_files->remove_run(evicted.run);
    // Then the index: it must not name a file that does not exist.
    if (!evicted.files.empty()) {
        hand.line.clear();
        append_index_evicted(evicted.run, word_of(evicted.why), evicted.files.size(), hand.line);
        Failed failed;
        {
            const std::lock_guard lock(index_mutex_);
            failed = index_.append_evicted(hand.line, evicted.run, evicted.files.size(), evicted.index_bytes);
        }
        if (failed) {
            stop(failure_text(failed, folder_.home()) + ". No more tensors are saved. " +
                 remedy_for(failed.error, "AOTI_DBG_OUT", PlaceKind::directory));
            return;
        }
    }
    if (const Failed failed = remove_files(evicted, hand)) {
        say_once(at_removal, failure_text(failed, folder_.path()) + ". Files of run " +
                                 std::to_string(evicted.run) +
                                 " remain, but the index does not list them. Remove them by hand.");
    }
    const std::lock_guard lock(index_mutex_);
    index_.compact_if_due();
}

/// Tries to remove all files and their folders. Returns the last failure.
Failed TensorSaver::remove_files(const EvictedRun& evicted, Hand& hand) {
    Failed failed;
    std::set<std::string> folders = evicted.folders;
    for (const KeptFile& file : evicted.files) {
        const std::size_t slash = file.path.rfind('/');
        const std::string folder = slash == std::string::npos ? std::string() : file.path.substr(0, slash);
        const std::string name = file.path.substr(slash + 1);
        if (const Failed entered = folder_.enter(folder, hand.root)) {
            failed = entered;
            continue;
        }
        if (!folder.empty()) folders.insert(folder);
        // The room is free even if another program removed the file.
        if (folder_.calls().unlink_at(hand.root.number(), name.c_str(), 0) == 0 || errno == ENOENT) {
            note_removed(file, evicted.why);
        } else {
            failed = {errno, "cannot remove a file in"};
        }
    }
    remove_folders(folders);
    return failed;
}

void TensorSaver::note_removed(const KeptFile& file, WhyEvicted why) {
    const std::lock_guard lock(mutex_);
    const auto content = on_disk_.find(file.content);
    if (content != on_disk_.end() && --content->second.names != 0) {
        counts_.evicted_linked_bytes.fetch_add(content->second.bytes, std::memory_order_release);
        counts_.evicted_linked.fetch_add(1, std::memory_order_release);
    }
    budget_.note_removed(free_if_unnamed(file.content));
    counts_.removed[static_cast<std::size_t>(why)].fetch_add(1, std::memory_order_relaxed);
    counts_.evicted.fetch_add(1, std::memory_order_release);
}

/// Removes the given folders and their run folders if they are empty.
void TensorSaver::remove_folders(const std::set<std::string>& folders) {
    std::set<std::string> of_runs;
    for (const std::string& folder : folders) {
        if (folder.empty()) continue;
        folder_.remove_folder(folder);
        const std::size_t slash = folder.find('/');
        if (slash != std::string::npos) of_runs.insert(folder.substr(0, slash));
    }
    for (const std::string& folder : of_runs)
        folder_.remove_folder(folder);
}

/// Requires mutex_.
void TensorSaver::note_freed() {
    if (!runs_.any_may_go()) return;
    ++times_freed_;
    room_freed_.notify_all();
}

/// Waits a moment for a run whose last files other threads are finishing or removing. Returns false if there
/// is none, or if the last wait achieved nothing.
bool TensorSaver::wait_for_room(const SavingJob& job) {
    std::unique_lock lock(mutex_);
    if (waited_since_ == times_freed_ || (removing_ == 0 && !runs_.waits_for_files(job.run))) return false;
    const std::uint64_t before = times_freed_;
    if (room_freed_.wait_for(lock, kForOthers, [&] { return times_freed_ != before; })) return true;
    waited_since_ = before;
    return false;
}

}  // namespace aoti_dbg
