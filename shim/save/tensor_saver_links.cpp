// Links a tensor that equals a saved one. Without links, the index names the equal file.

#include <cerrno>
#include <utility>

#include "shim/save/tensor_saver.hpp"

namespace aoti_dbg {
namespace {

/// The file system has no links, or the two folders are on different file systems.
bool means_no_links(int error) {
    return error == EPERM || error == EOPNOTSUPP || error == ENOSYS || error == EXDEV;
}

/// The file cannot have another name or no longer exists. The content is written again, and later tensors
/// link to the new file.
bool means_this_file(int error) {
    return error == EMLINK || error == ENOENT;
}

}  // namespace

/// An index entry without its own file must not outlive the file that it names.
bool TensorSaver::looks_for_equals() const {
    return has_links_.load(std::memory_order_relaxed) || !runs_.any_may_go();
}

/// Returns whether the content is still on disk. If so, reserves a name, so that the content counts as on
/// disk until the link exists, whatever run is removed meanwhile.
bool TensorSaver::take_name(const SavingJob& job, const SavedFile& known) {
    const std::lock_guard lock(mutex_);
    if (!runs_.any_may_go()) return true;
    const auto found = on_disk_.find(known.content);
    if (found == on_disk_.end()) {
        contents_.forget(job.key);
        return false;
    }
    ++found->second.coming;
    return true;
}

/// Undoes take_name().
void TensorSaver::give_name_back(const SavedFile& known) {
    const std::lock_guard lock(mutex_);
    const auto found = on_disk_.find(known.content);
    if (found == on_disk_.end()) return;
    --found->second.coming;
    budget_.give_back_bytes(free_if_unnamed(known.content), UINT64_MAX);
}

/// Requires mutex_. Turns a reserved name into an existing one. Returns whether the content has other names.
bool TensorSaver::note_named(std::uint64_t content) {
    const auto found = on_disk_.find(content);
    if (found == on_disk_.end()) return true;
    --found->second.coming;
    return ++found->second.names > 1;
}

TensorSaver::Linked TensorSaver::link(SavingJob& job, const SavedFile& known, Hand& hand) {
    const bool is_written = job.has_grant;
    if (!is_written && has_links_.load(std::memory_order_relaxed) && !grant(job, 0, hand))
        return Linked::over;
    const Linked linked =
        take_name(job, known) ? link_named(job, known, is_written, hand) : Linked::not_known;
    if (linked == Linked::not_known && !is_written) {
        const std::lock_guard lock(mutex_);
        return_grant(job);
    }
    return linked;
}

TensorSaver::Linked TensorSaver::link_named(SavingJob& job, const SavedFile& known, bool is_written,
                                            Hand& hand) {
    Failed failed = enter(job, hand);
    if (!failed) failed = folder_.enter("", hand.root);
    if (!failed) {
        const bool is_valid = is_unchanged(known, hand);
        if (is_valid && !has_links_.load(std::memory_order_relaxed)) {
            give_name_back(known);
            return name_the_same(job, known, hand);
        }
        if (is_valid) failed = link_under_free_name(job, known, hand);
        const bool has_no_links = means_no_links(failed.error);
        if (!is_valid || has_no_links || means_this_file(failed.error)) {
            if (has_no_links) has_links_.store(false, std::memory_order_relaxed);
            give_name_back(known);
            const std::lock_guard lock(mutex_);
            if (!has_no_links) contents_.forget(job.key);
            return Linked::not_known;
        }
    }
    if (failed) {
        give_name_back(known);
        fail(failed, job);
        return Linked::over;
    }
    if (!append_to_index(job, &known, true, hand)) {
        give_name_back(known);
        return Linked::over;
    }
    job.content = known.content;
    {
        const std::lock_guard lock(mutex_);
        // Count it together with the name, because another thread may remove a name of this content at once.
        if (note_named(known.content)) {
            counts_.linked.fetch_add(1, std::memory_order_relaxed);
            counts_.linked_bytes.fetch_add(static_cast<std::uint64_t>(known.size), std::memory_order_relaxed);
        }
        if (is_written) budget_.give_back_bytes(job.granted, job.at);
        // If older runs are removed, the newest name lasts longest.
        if (runs_.any_may_go()) {
            SavedFile newest = known;
            newest.path = job.path();
            contents_.put(job.key, std::move(newest));
        }
    }
    counts_.files.fetch_add(1, std::memory_order_relaxed);
    end_job(job, true);
    return Linked::over;
}

Failed TensorSaver::link_under_free_name(SavingJob& job, const SavedFile& known, Hand& hand) {
    for (std::uint64_t tries = 0;; ++tries) {
        const std::string name = file_name_of(job.stem, job.number);
        const int linked = folder_.calls().link_at(hand.root.number(), known.path.c_str(),
                                                   hand.folder.number(), name.c_str(), 0);
        if (linked == 0) return {};
        if (errno != EEXIST || tries >= kMostNamesTried) return {errno, "cannot link a file in"};
        const std::lock_guard lock(mutex_);
        job.number = next_number(job);
    }
}

/// Returns whether the file is unchanged since it was finished.
bool TensorSaver::is_unchanged(const SavedFile& known, const Hand& hand) const {
    struct stat found {};
    return folder_.calls().inspect(hand.root.number(), known.path.c_str(), &found) == 0 &&
           found.st_dev == known.device && found.st_ino == known.inode && found.st_size == known.size &&
           found.st_mtim.tv_sec == known.modified.tv_sec && found.st_mtim.tv_nsec == known.modified.tv_nsec;
}

TensorSaver::Linked TensorSaver::name_the_same(SavingJob& job, const SavedFile& known, Hand& hand) {
    if (!looks_for_equals()) return Linked::not_known;
    if (!append_to_index(job, &known, false, hand)) return Linked::over;
    counts_.linked.fetch_add(1, std::memory_order_relaxed);
    counts_.linked_bytes.fetch_add(static_cast<std::uint64_t>(known.size), std::memory_order_relaxed);
    end_job(job, false);
    return Linked::over;
}

/// If runs may be removed, tracks the new file. Its bytes are freed with its last name.
void TensorSaver::note_on_disk(SavingJob& job) {
    const std::lock_guard lock(mutex_);
    if (!runs_.any_may_go()) return;
    job.content = ++last_content_;
    on_disk_[job.content] = {1, 0, job.granted};
}

/// Requires mutex_. Returns the bytes that this frees, or 0 if the content has a name or a reserved one.
std::uint64_t TensorSaver::free_if_unnamed(std::uint64_t content) {
    const auto found = on_disk_.find(content);
    if (found == on_disk_.end() || found->second.names != 0 || found->second.coming != 0) return 0;
    const std::uint64_t bytes = found->second.bytes;
    on_disk_.erase(found);
    return bytes;
}

void TensorSaver::remember(const SavingJob& job, Hand& hand) {
    struct stat found {};
    const std::string name = file_name_of(job.stem, job.number);
    if (folder_.calls().inspect(hand.folder.number(), name.c_str(), &found) != 0) return;
    SavedFile file{job.path(), found.st_dev, found.st_ino, found.st_size, found.st_mtim, job.content};
    const std::lock_guard lock(mutex_);
    contents_.put(job.key, std::move(file));
}

}  // namespace aoti_dbg
