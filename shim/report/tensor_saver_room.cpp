// Room for saved tensors: what is asked for it, who goes to make it, and what is said where there is none or
// something fails.

#include <cerrno>
#include <set>
#include <utility>

#include "base/file_failure.hpp"
#include "config/byte_size.hpp"
#include "serializer/tensor_index_jsonl.hpp"
#include "shim/observe/clock.hpp"
#include "shim/report/tensor_saver.hpp"
#include "shim/report/written_bytes.hpp"

namespace aoti_dbg {
namespace {

/// What may be otherwise for the next tensor.
bool concerns_one_file(int error) {
    return error == ENOMEM || error == EMFILE || error == ENFILE || error == ENAMETOOLONG || error == EBADF;
}

constexpr const char* kNoMore = ". No more tensors are saved. ";

std::string remedy(int error) {
    return remedy_for(error, "AOTI_DBG_OUT", PlaceKind::directory);
}

}  // namespace

/// False where there is no room: the job is over then.
bool TensorSaver::grant(SavingJob& job, std::uint64_t bytes, Hand& hand) {
    SaveBudget::Answer answer = ask(bytes, hand);
    // Room for what is newest, whole runs at a time, the oldest first.
    while (answer != SaveBudget::Answer::granted) {
        bool goes = false;
        {
            const std::lock_guard lock(mutex_);
            goes = runs_.let_oldest_go(job.run);
        }
        if (!goes) break;
        while (evict_one(hand)) {
        }
        answer = ask(bytes, hand);
    }
    if (answer == SaveBudget::Answer::granted) {
        job.has_grant = true;
        job.granted = bytes;
        return true;
    }
    refuse(answer, job);
    return false;
}

SaveBudget::Answer TensorSaver::ask(std::uint64_t bytes, Hand& hand) {
    const std::uint64_t now = monotonic_nanoseconds();
    bool looks = false;
    {
        const std::lock_guard lock(mutex_);
        looks = budget_.wants_look(now);
    }
    struct statvfs disk {};
    if (looks) {
        // One that cannot be asked is not known to be full; whether it can be written to is seen then.
        if (folder_.enter("", hand.root) || folder_.calls().look_at_disk(hand.root.number(), &disk) != 0)
            disk = {};
    }
    const std::uint64_t others = written_bytes();
    const std::lock_guard lock(mutex_);
    if (looks) budget_.look(disk, now);
    return budget_.ask(bytes, others);
}

void TensorSaver::refuse(SaveBudget::Answer answer, SavingJob& job) {
    std::string why;
    std::string what_to_try;
    switch (answer) {
        case SaveBudget::Answer::granted:
        case SaveBudget::Answer::too_many_bytes:
            why = "the next tensor would exceed the " + byte_size_text(settings_.max_bytes) +
                  " that AOTI_DBG_MAX_BYTES allows in " + folder_.path();
            what_to_try = "Raise AOTI_DBG_MAX_BYTES, select fewer calls";
            break;
        case SaveBudget::Answer::too_many_files:
            why = std::to_string(settings_.max_files) + " files are in " + folder_.path() +
                  ", as many as AOTI_DBG_MAX_FILES allows";
            what_to_try = "Raise AOTI_DBG_MAX_FILES, select fewer calls";
            break;
        case SaveBudget::Answer::disk_full:
            why = "the next tensor would go into the last tenth of the file system of " + folder_.path();
            what_to_try = "Set AOTI_DBG_OUT to a directory on a larger file system, select fewer calls";
            break;
    }
    if (settings_.keep_last != 0) {
        say_once(at_cap, why + ", and no older run is left to remove. The rest of run " +
                             std::to_string(job.run) + " is left out. " + what_to_try + ".");
    } else {
        stop(why + kNoMore + what_to_try + ", or keep the last runs with AOTI_DBG_KEEP=last:N.");
    }
    leave_out(job, LeftOut::no_room);
}

bool TensorSaver::evict_one(Hand& hand) {
    std::optional<EvictedRun> evicted;
    {
        const std::lock_guard lock(mutex_);
        evicted = runs_.take_evicted();
    }
    if (!evicted) return false;
    // Said before it is done: the index must not name what is gone.
    if (!evicted->files.empty()) {
        hand.line.clear();
        append_index_evicted(evicted->run, word_of(evicted->why), evicted->files.size(), hand.line);
        Failed failed;
        {
            const std::lock_guard lock(index_mutex_);
            failed = index_.append(hand.line);
        }
        if (failed) {
            stop(failure_text(failed, folder_.home()) + kNoMore + remedy(failed.error));
            return true;
        }
    }
    if (const Failed failed = remove_files(*evicted, hand)) {
        say_once(at_removal, failure_text(failed, folder_.path()) + ". Files of run " +
                                 std::to_string(evicted->run) +
                                 " stay, and the index does not list them. Remove them by hand.");
    }
    return true;
}

/// Tries all of them, and their folders; what failed last.
Failed TensorSaver::remove_files(const EvictedRun& evicted, Hand& hand) {
    const FileCalls& calls = folder_.calls();
    Failed failed;
    std::set<std::string> folders;
    for (const std::string& path : evicted.files) {
        const std::size_t slash = path.rfind('/');
        const std::string folder = slash == std::string::npos ? std::string() : path.substr(0, slash);
        const std::string name = path.substr(slash + 1);
        if (const Failed entered = folder_.enter(folder, hand.root)) {
            failed = entered;
            continue;
        }
        if (!folder.empty()) folders.insert(folder);
        struct stat found {};
        const bool is_last_name =
            calls.look_at(hand.root.number(), name.c_str(), &found) == 0 && found.st_nlink == 1;
        if (calls.unlink_at(hand.root.number(), name.c_str(), 0) == 0) {
            counts_.evicted.fetch_add(1, std::memory_order_relaxed);
            const std::lock_guard lock(mutex_);
            budget_.note_removed(is_last_name ? static_cast<std::uint64_t>(found.st_size) : 0);
        } else if (errno != ENOENT) {
            failed = {errno, "cannot remove a file in"};
        }
    }
    for (const std::string& folder : folders)
        folder_.remove_folder(folder);
    if (!folders.empty()) folder_.remove_folder(folder_of_run(evicted.run));
    return failed;
}

void TensorSaver::fail(const Failed& failed, SavingJob& job) {
    // What a deleted folder makes of a call has many names.
    OpenFolder again;
    const Failed gone = folder_.enter("", again);
    const Failed& shown = gone.error == ENOENT ? gone : failed;
    const std::string what = failure_text(shown, folder_.path());
    LeftOut why = LeftOut::failed;
    if (failed.error == EFBIG) {
        why = LeftOut::too_large;
        say_once(at_limit, what + ". Tensors of " + byte_size_text(job.granted) + " and more are left out. " +
                               remedy(failed.error));
    } else if (concerns_one_file(failed.error)) {
        say_once(at_memory, what + ". Tensors that cannot be written are left out. The last line of " +
                                index_.path() + " counts them. " + remedy(failed.error));
    } else if (failed.error == ENOSPC || failed.error == EDQUOT) {
        why = LeftOut::no_room;
        if (settings_.keep_last != 0) {
            bool goes = false;
            {
                const std::lock_guard lock(mutex_);
                goes = runs_.let_oldest_go(job.run);
            }
            say_once(at_room, what +
                                  (goes ? ". Older runs are removed to make room. "
                                        : ". Tensors that have no room are left out. ") +
                                  remedy(failed.error) + " Or lower AOTI_DBG_KEEP.");
        } else {
            stop(what + kNoMore + remedy(failed.error) + " Or set AOTI_DBG_KEEP=last:N.");
        }
    } else {
        stop(what + kNoMore + remedy(shown.error));
    }
    leave_out(job, why);
}

void TensorSaver::stop(const std::string& line) {
    {
        const std::lock_guard lock(mutex_);
        if (is_stopped()) return;
        why_stopped_ = line;
        is_stopped_.store(true, std::memory_order_relaxed);
    }
    say_(Severity::warn, line);
}

void TensorSaver::say_once(Once what, const std::string& line) {
    if ((said_.fetch_or(what) & what) == 0) say_(Severity::warn, line);
}

}  // namespace aoti_dbg
