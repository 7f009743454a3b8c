// Requests room for saved tensors, makes room by removing runs, and reports when there is none or an
// operation fails.

#include <cerrno>

#include "base/file_failure.hpp"
#include "config/byte_size.hpp"
#include "shim/record/written_bytes.hpp"
#include "shim/runtime/clock.hpp"
#include "shim/save/tensor_saver.hpp"

namespace aoti_dbg {
namespace {

/// The next tensor may still succeed after such an error.
bool concerns_one_file(int error) {
    return error == ENOMEM || error == EMFILE || error == ENFILE || error == ENAMETOOLONG || error == EBADF;
}

// How often a tensor waits for runs that are being removed.
constexpr unsigned kMostWaits = 16;
constexpr const char* kNoMore = ". No more tensors are saved. ";

std::string remedy(int error) {
    return remedy_for(error, "AOTI_DBG_OUT", PlaceKind::directory);
}

}  // namespace

/// Returns false if there is no room. The job is over then.
bool TensorSaver::grant(SavingJob& job, std::uint64_t bytes, Hand& hand) {
    SaveBudget::Answer answer = ask(bytes, hand);
    for (unsigned waits = 0; answer != SaveBudget::Answer::granted && bytes <= settings_.max_bytes;) {
        // First use the room of runs that are being removed anyway. Then remove the oldest run if newer ones
        // matter more.
        if (!evict_one(hand) && (++waits > kMostWaits || !wait_for_room(job))) {
            const std::lock_guard lock(mutex_);
            if (!runs_.release_oldest(job.run)) break;
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

/// If runs are removed, the program may run for weeks. Its logs and events are not trimmed and would leave no
/// room for tensors, so they do not count here.
std::uint64_t TensorSaver::bytes_of_others() const {
    return runs_.any_may_go() ? index_.bytes() : written_bytes();
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
        // A file system that cannot be queried is not known to be full. Writing will show whether it has
        // room.
        if (folder_.enter("", hand.root) || folder_.calls().inspect_disk(hand.root.number(), &disk) != 0)
            disk = {};
    }
    const std::uint64_t others = bytes_of_others();
    const std::lock_guard lock(mutex_);
    if (looks) budget_.look(disk, now);
    return budget_.ask(bytes, others);
}

/// Returns whether runs on disk may still be removed.
bool TensorSaver::room_may_come() {
    if (settings_.keep_last != 0) return true;
    if (!settings_.only_findings) return false;
    const std::lock_guard lock(mutex_);
    return budget_.files() > runs_.files_that_stay();
}

void TensorSaver::refuse(SaveBudget::Answer answer, SavingJob& job) {
    std::string why;
    std::string what_to_try;
    switch (answer) {
        case SaveBudget::Answer::granted:
        case SaveBudget::Answer::too_many_bytes:
            why = "the next tensor does not fit into the " + byte_size_text(settings_.max_bytes) +
                  " that AOTI_DBG_MAX_BYTES allows in " + folder_.path();
            what_to_try = "Raise AOTI_DBG_MAX_BYTES";
            break;
        case SaveBudget::Answer::too_many_files:
            why = folder_.path() + " already has " + std::to_string(settings_.max_files) +
                  " files, the most that AOTI_DBG_MAX_FILES allows";
            what_to_try = "Raise AOTI_DBG_MAX_FILES";
            break;
        case SaveBudget::Answer::disk_full:
            why = "the next tensor would use the last tenth of the file system of " + folder_.path();
            what_to_try = "Set AOTI_DBG_OUT to a directory on a larger file system";
            break;
    }
    if (room_may_come()) {
        say_once(at_cap, why + ". The rest of run " + std::to_string(job.run) +
                             " is not saved, nor are later tensors that do not fit. " + what_to_try +
                             " or select fewer calls.");
    } else {
        stop(why + kNoMore + what_to_try +
             ", select fewer calls, or keep the last runs with AOTI_DBG_KEEP=last:N.");
    }
    leave_out(job, LeftOut::no_room);
}

void TensorSaver::fail(const Failed& failed, SavingJob& job) {
    // A deleted folder causes many different errors, so check for it first.
    OpenFolder again;
    const Failed gone = folder_.enter("", again);
    const Failed& shown = gone.error == ENOENT ? gone : failed;
    const std::string what = failure_text(shown, folder_.path());
    LeftOut why = LeftOut::failed;
    if (failed.error == EFBIG) {
        why = LeftOut::too_large;
        say_once(at_limit, what + ". Tensors of " + byte_size_text(job.granted) + " or more are not saved. " +
                               remedy(failed.error));
    } else if (concerns_one_file(failed.error)) {
        say_once(at_memory, what + ". Tensors that cannot be written are skipped. The last line of " +
                                index_.path() + " counts them. " + remedy(failed.error));
    } else if (failed.error == ENOSPC || failed.error == EDQUOT) {
        why = LeftOut::no_room;
        if (settings_.keep_last != 0) {
            bool goes = false;
            {
                const std::lock_guard lock(mutex_);
                goes = runs_.release_oldest(job.run);
            }
            say_once(at_room, what +
                                  (goes ? ". Older runs are removed to make room. "
                                        : ". Tensors that do not fit are skipped. ") +
                                  remedy(failed.error) + " Or lower AOTI_DBG_KEEP.");
        } else if (room_may_come()) {
            say_once(at_room, what + ". Tensors that do not fit are skipped. " + remedy(failed.error));
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
