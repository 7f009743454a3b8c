// Tensors that equal one that is saved: links, and what stands for them where there are none.
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <utility>

#include "base/descriptor.hpp"

#include "shim/report/tensor_saver.hpp"

namespace aoti_dbg {
namespace {

constexpr std::uint64_t kMostOfOneName = 100000;
constexpr std::uint64_t kCopied = std::uint64_t{1} << 20U;

/// The file system has no links, or none between these two.
bool tells_of_no_links(int error) {
    return error == EPERM || error == EOPNOTSUPP || error == ENOSYS || error == EXDEV;
}

/// This file cannot have one more name, or is gone: the content is written again, and that file linked to.
bool tells_of_this_file(int error) {
    return error == EMLINK || error == ENOENT;
}

}  // namespace

/// A name in the index alone must not outlive the file that it stands for.
bool TensorSaver::looks_for_equals() const {
    return has_links_.load(std::memory_order_relaxed) || !runs_.any_may_go();
}

TensorSaver::Linked TensorSaver::link(SavingJob& job, const SavedFile& known, Hand& hand) {
    const bool is_written = job.has_grant;
    if (!is_written && has_links_.load(std::memory_order_relaxed) && !grant(job, 0, hand))
        return Linked::over;
    Failed failed = folder_.enter(job.folder, hand.folder);
    if (!failed) failed = folder_.enter("", hand.root);
    if (!failed) {
        const bool stands = still_stands(known, hand);
        if (stands && !has_links_.load(std::memory_order_relaxed)) return name_the_same(job, known, hand);
        if (stands) failed = link_under_free_name(job, known, hand);
        const bool has_no_links = tells_of_no_links(failed.error);
        if (!stands || has_no_links || tells_of_this_file(failed.error)) {
            if (has_no_links) has_links_.store(false, std::memory_order_relaxed);
            const std::lock_guard lock(mutex_);
            if (!is_written) return_grant(job);
            if (!has_no_links && !(stands && job.has_let_go)) contents_.forget(job.key);
            return Linked::not_known;
        }
    }
    if (failed) {
        fail(failed, job);
        return Linked::over;
    }
    if (!append_to_index(job, &known, true, hand)) return Linked::over;
    {
        const std::lock_guard lock(mutex_);
        if (is_written) budget_.give_back_bytes(job.granted, job.at);
        // The newest name stands longest, where older runs go.
        if (runs_.any_may_go()) {
            SavedFile newest = known;
            newest.path = job.path();
            contents_.put(job.key, std::move(newest));
        }
    }
    counts_.files.fetch_add(1, std::memory_order_relaxed);
    counts_.linked.fetch_add(1, std::memory_order_relaxed);
    counts_.linked_bytes.fetch_add(static_cast<std::uint64_t>(known.size), std::memory_order_relaxed);
    end_job(job, true);
    return Linked::over;
}

Failed TensorSaver::link_under_free_name(SavingJob& job, const SavedFile& known, Hand& hand) {
    for (std::uint64_t tries = 0;; ++tries) {
        const std::string name = file_name_of(job.stem, job.number);
        const int linked = folder_.calls().link_at(hand.root.number(), known.path.c_str(),
                                                   hand.folder.number(), name.c_str(), 0);
        if (linked == 0) return {};
        if (errno != EEXIST || tries >= kMostOfOneName) return {errno, "cannot link a file in"};
        const std::lock_guard lock(mutex_);
        job.number = next_number(job);
    }
}

/// As it was when we finished it: nobody has removed it, replaced it or written to it.
bool TensorSaver::still_stands(const SavedFile& known, const Hand& hand) const {
    struct stat found {};
    return folder_.calls().look_at(hand.root.number(), known.path.c_str(), &found) == 0 &&
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

/// Of the file that has the same content, where it cannot be linked to and the bytes were let go.
void TensorSaver::copy(SavingJob& job, const SavedFile& known, Hand& hand) {
    const FileCalls& calls = folder_.calls();
    const auto size = static_cast<std::uint64_t>(known.size);
    if (!grant(job, size, hand)) return;
    job.file = std::make_unique<TensorFile>(folder_);
    Failed failed = folder_.enter(job.folder, hand.folder);
    if (!failed) failed = folder_.enter("", hand.root);
    if (!failed) failed = job.file->create(hand.folder);
    if (failed) return fail(failed, job);
    const int from = still_stands(known, hand) ? calls.open_at(hand.root.number(), known.path.c_str(),
                                                               O_RDONLY | O_CLOEXEC | O_NOFOLLOW, 0)
                                               : -1;
    if (from < 0) return leave_out(job, LeftOut::incomplete);
    const Descriptor closes(from);
    std::vector<std::byte> buffer(std::min<std::uint64_t>(kCopied, size));
    while (job.at < size && !is_stopped()) {
        const ssize_t bytes = calls.read_at(from, buffer.data(), buffer.size(), static_cast<off_t>(job.at));
        if (bytes < 0 && errno == EINTR) continue;
        if (bytes <= 0) break;
        iovec part{buffer.data(), static_cast<std::size_t>(bytes)};
        if (failed = job.file->write({&part, 1}, job.at); failed) return fail(failed, job);
        job.at += static_cast<std::uint64_t>(bytes);
        counts_.bytes.fetch_add(static_cast<std::uint64_t>(bytes), std::memory_order_relaxed);
        settle(job, static_cast<std::uint64_t>(bytes));
    }
    job.stage = SavingJob::Stage::writing;
    job.taken = job.storage_bytes;
    finish(job, hand);
}

void TensorSaver::remember(const SavingJob& job, Hand& hand) {
    struct stat found {};
    const std::string name = file_name_of(job.stem, job.number);
    if (folder_.calls().look_at(hand.folder.number(), name.c_str(), &found) != 0) return;
    SavedFile file{job.path(), found.st_dev, found.st_ino, found.st_size, found.st_mtim};
    const std::lock_guard lock(mutex_);
    contents_.put(job.key, std::move(file));
}

}  // namespace aoti_dbg
