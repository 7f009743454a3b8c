#include "shim/save/tensor_saver.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/fnv.hpp"
#include "config/words.hpp"
#include "serializer/crc32.hpp"
#include "serializer/tensor_index_jsonl.hpp"

namespace aoti_dbg {
namespace {

// A piece is checksummed and then written, so it must fit the processor's cache.
constexpr std::size_t kPiece = std::size_t{1} << 20U;
// Larger tensors are written in parts: a single thread is slower than a fast disk or memory.
constexpr std::uint64_t kLeastInParts = std::uint64_t{8} << 20U;
// The most names to remember. For a forgotten name, the file system is asked one number at a time.
constexpr std::size_t kMostNames = 65536;
constexpr std::size_t kMostVainFolders = 1024;

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
    hash ^= value + 0x9e3779b97f4a7c15ULL + (hash << 6U) + (hash >> 2U);
    return hash * 0xff51afd7ed558ccdULL;
}

ContentKey key_of(const SavingJob& job) {
    std::uint64_t hash = fnv1a(job.device);
    hash = mixed(hash, static_cast<std::uint64_t>(job.dtype));
    hash = mixed(hash, job.sizes.size());
    for (const std::int64_t size : job.sizes)
        hash = mixed(hash, static_cast<std::uint64_t>(size));
    for (const std::int64_t stride : job.strides)
        hash = mixed(hash, static_cast<std::uint64_t>(stride));
    hash = mixed(hash, static_cast<std::uint64_t>(job.storage_offset));
    hash = mixed(hash, (job.bits.conjugate ? 1U : 0U) | (job.bits.negative ? 2U : 0U));
    return {*job.facts.hash, job.storage_bytes, hash};
}

iovec part_of(std::span<const std::byte> bytes) {
    // The file is only written from it, but iovec has no const pointer.
    return {const_cast<std::byte*>(bytes.data()), bytes.size()};
}

/// Enters a folder and works in it, with `act`. Does both again if the folder was removed while it was open.
template <typename Act>
Failed again_if_removed(OpenFolder& folder, const Act& act) {
    const Failed failed = act();
    // ext4 reports EPERM for a new file in a removed folder.
    if (failed.error != ENOENT && failed.error != EPERM) return failed;
    folder.leave();
    return act();
}

}  // namespace

TensorSaver::TensorSaver(const SavingSettings& settings, TensorFolder folder, Say say)
    : settings_(settings),
      folder_(std::move(folder)),
      index_(folder_, settings.least_dead),
      say_(std::move(say)),
      budget_(settings.max_bytes, settings.max_files),
      runs_(settings.keep_last, settings.only_findings, settings.for_fault) {}

Result<std::unique_ptr<TensorSaver>> TensorSaver::make(const SavingSettings& settings, Say say,
                                                       const FileCalls& calls) {
    Result<TensorFolder> folder = TensorFolder::make(calls, settings.place);
    if (!folder.ok()) return folder.status();
    std::unique_ptr<TensorSaver> saver(new TensorSaver(settings, std::move(folder.value()), std::move(say)));
    std::string header;
    append_index_header(settings.header, saver->folder_.is_flat() ? saver->folder_.path() : "", header);
    if (const Failed failed = saver->index_.create(header))
        return Status::error(failure_text(failed, saver->folder_.home()), failed.error);
    return saver;
}

bool TensorSaver::open(const TensorToSave& what, SavingJob& job) {
    job.side = what.place.side;
    job.run = what.place.run;
    job.call = what.place.call;
    job.model = what.model;
    job.position = what.position;
    job.sequence = what.place.sequence;
    job.kernel = what.place.kernel;
    job.label = what.place.label;
    job.device = what.place.device;
    job.dtype = what.tensor.dtype;
    job.sizes.assign(what.tensor.sizes.begin(), what.tensor.sizes.end());
    job.strides.assign(what.tensor.strides.begin(), what.tensor.strides.end());
    job.storage_offset = what.tensor.storage_offset;
    job.storage_bytes = what.tensor.storage_bytes;
    job.bits = what.tensor.bits;
    job.whole_storage_bytes = what.storage_bytes;
    job.facts = {};
    const NameRules rules{settings_.portable_names, folder_.longest_name()};
    job.folder = folder_.is_flat() ? std::string() : folder_of(what.place);
    job.stem = stem_of(what.place, rules);
    job.whole_name = whole_stem_if_cut(what.place, rules);
    job.stage = SavingJob::Stage::fresh;
    job.is_complete = job.is_claimed = job.has_folder = job.has_grant = false;
    job.granted = job.settled = job.at = job.taken = 0;
    job.crc = 0;
    job.content = job.index_bytes = 0;
    if (is_stopped()) {
        job.stage = SavingJob::Stage::over;
        count_left_out(LeftOut::stopped);
        return false;
    }
    {
        const std::lock_guard lock(mutex_);
        job.number = next_number(job);
        if (runs_.begin_file(job.run)) return true;
    }
    job.stage = SavingJob::Stage::over;
    count_gone(job);
    return false;
}

/// Requires mutex_.
std::uint64_t TensorSaver::next_number(const SavingJob& job) {
    if (numbers_.size() >= kMostNames) numbers_.clear();
    const std::uint64_t folder = fnv1a(job.folder) * 31U;
    const std::uint64_t name =
        settings_.portable_names ? fnv1a(lower_case(job.stem), folder) : fnv1a(job.stem, folder);
    return ++numbers_[name];
}

void TensorSaver::note_complete(SavingJob& job) {
    const std::lock_guard lock(mutex_);
    job.is_complete = true;
}

TensorSaver::Begun TensorSaver::begin(SavingJob& job, bool has_facts, Hand& hand,
                                      std::span<const std::byte> whole) {
    bool goes = false;
    {
        const std::lock_guard lock(mutex_);
        goes = runs_.is_going(job.run);
    }
    if (goes || is_stopped()) {
        leave_out(job, goes ? LeftOut::run_went : LeftOut::stopped);
        return Begun::over;
    }
    while (has_facts && job.facts.hash && looks_for_equals()) {
        SavedFile known;
        {
            const std::lock_guard lock(mutex_);
            job.key = key_of(job);
            const SavedFile* const found = contents_.find(job.key);
            if (found == nullptr) {
                const auto [claim, is_new] = claimed_.try_emplace(job.key, Claim{&job, {}});
                job.is_claimed = is_new;
                if (is_new || !claim->second.by->is_complete) break;
                claim->second.waiting.push_back(&job);
                return Begun::waits;
            }
            known = *found;
        }
        if (link(job, known, hand) == Linked::over) return Begun::over;
    }
    // If the checksum is known first, the frame needs to be laid out only once.
    job.has_crc = whole.size() == job.storage_bytes && whole.size() <= kPiece;
    if (job.has_crc) job.crc = crc32(0, whole);
    job.frame = pt_frame(job.tensor(), job.crc);
    if (!grant(job, job.frame.head.size() + job.storage_bytes + job.frame.tail.size(), hand))
        return Begun::over;
    job.file = std::make_unique<TensorFile>(folder_);
    const Failed failed = again_if_removed(hand.folder, [&] {
        const Failed entered = enter(job, hand);
        return entered ? entered : job.file->create(hand.folder);
    });
    if (failed) {
        fail(failed, job);
        return Begun::over;
    }
    job.in_parts = job.storage_bytes >= kLeastInParts && folder_.keeps_open();
    job.head = job.frame.head.size();
    job.stage = SavingJob::Stage::writing;
    return Begun::writes;
}

void TensorSaver::write(SavingJob& job, std::span<const std::byte> bytes, bool is_last) {
    if (bytes.size() > job.storage_bytes - job.taken) {
        return leave_out(job, LeftOut::incomplete);  // more bytes than announced
    }
    if (bytes.data() == nullptr && !bytes.empty()) return write_hole(job, bytes.size());
    do {
        const std::span<const std::byte> piece = bytes.first(std::min(bytes.size(), kPiece));
        bytes = bytes.subspan(piece.size());
        if (!job.has_crc) job.crc = crc32(job.crc, piece);
        job.taken += piece.size();
        const bool begins = job.at == 0;
        const bool ends = is_last && bytes.empty() && job.taken == job.storage_bytes;
        if (ends && !job.has_crc) job.frame.tail = pt_frame(job.tensor(), job.crc).tail;
        iovec parts[3];
        std::size_t count = 0;
        if (begins) parts[count++] = part_of(job.frame.head);
        if (!piece.empty()) parts[count++] = part_of(piece);
        if (ends) parts[count++] = part_of(job.frame.tail);
        std::uint64_t length = 0;
        for (std::size_t i = 0; i < count; ++i)
            length += parts[i].iov_len;
        if (const Failed failed = job.file->write({parts, count}, job.at)) return fail(failed, job);
        job.at += length;
        counts_.bytes.fetch_add(length, std::memory_order_relaxed);
        settle_grant(job, length);
    } while (!bytes.empty());
}

void TensorSaver::settle_grant(SavingJob& job, std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    budget_.note_written(bytes);
    job.settled += bytes;
}

Failed TensorSaver::write_part(SavingJob& job, std::uint64_t from, std::span<const std::byte> bytes,
                               std::uint32_t& crc) {
    while (!bytes.empty()) {
        const std::span<const std::byte> piece = bytes.first(std::min(bytes.size(), kPiece));
        bytes = bytes.subspan(piece.size());
        crc = crc32(crc, piece);
        iovec part = part_of(piece);
        if (const Failed failed = job.file->write({&part, 1}, job.head + from)) return failed;
        from += piece.size();
        counts_.bytes.fetch_add(piece.size(), std::memory_order_relaxed);
        settle_grant(job, piece.size());
    }
    return {};
}

void TensorSaver::write_frame(SavingJob& job, std::uint32_t crc) {
    job.frame = pt_frame(job.tensor(), crc);
    iovec head = part_of(job.frame.head);
    iovec tail = part_of(job.frame.tail);
    Failed failed = job.file->write({&head, 1}, 0);
    if (!failed) failed = job.file->write({&tail, 1}, job.head + job.storage_bytes);
    if (failed) return fail(failed, job);
    job.taken = job.storage_bytes;
    job.at = job.head + job.storage_bytes + job.frame.tail.size();
    counts_.bytes.fetch_add(job.frame.head.size() + job.frame.tail.size(), std::memory_order_relaxed);
    settle_grant(job, job.granted - job.settled);
}

/// A hole is never the last part of a storage.
void TensorSaver::write_hole(SavingJob& job, std::uint64_t zeros) {
    if (job.at == 0) {
        iovec head = part_of(job.frame.head);
        if (const Failed failed = job.file->write({&head, 1}, 0)) return fail(failed, job);
        job.at = job.head;
        settle_grant(job, job.at);
    }
    settle_grant(job, zeros);
    job.crc = crc32_combine(job.crc, crc32_of_zeros(zeros), zeros);
    job.at += zeros;
    job.taken += zeros;
}

void TensorSaver::finish(SavingJob& job, Hand& hand) {
    if (job.stage != SavingJob::Stage::writing) return;
    if (job.at != job.granted) return leave_out(job, LeftOut::incomplete);
    if (job.facts.hash && looks_for_equals()) {
        SavedFile known;
        bool is_known = false;
        {
            const std::lock_guard lock(mutex_);
            job.key = key_of(job);
            const SavedFile* const found = contents_.find(job.key);
            is_known = found != nullptr;
            if (is_known) known = *found;
        }
        if (is_known && link(job, known, hand) == Linked::over) return;
    }
    const Failed failed = again_if_removed(hand.folder, [&] {
        const Failed entered = enter(job, hand);
        return entered ? entered : publish(job, hand);
    });
    if (failed) return fail(failed, job);
    if (!append_to_index(job, nullptr, true, hand)) return;
    note_on_disk(job);
    if (job.facts.hash) remember(job, hand);
    counts_.files.fetch_add(1, std::memory_order_relaxed);
    end_job(job, true);
}

Failed TensorSaver::enter(SavingJob& job, Hand& hand) {
    job.has_folder = true;
    return folder_.enter(job.folder, hand.folder);
}

Failed TensorSaver::publish(SavingJob& job, Hand& hand) {
    for (std::uint64_t tries = 0;; ++tries) {
        const std::string name = file_name_of(job.stem, job.number);
        const Failed failed = job.file->publish(hand.folder, name.c_str());
        if (failed.error != EEXIST || tries >= kMostNamesTried) return failed;
        const std::lock_guard lock(mutex_);
        job.number = next_number(job);
    }
}

void TensorSaver::leave_out(SavingJob& job, LeftOut why) {
    if (job.stage == SavingJob::Stage::over) return;
    if (why == LeftOut::run_went) {
        count_gone(job);
    } else {
        count_left_out(why);
    }
    if (why == LeftOut::incomplete && settings_.for_fault) {
        const std::lock_guard lock(mutex_);
        runs_.note_incomplete(job.run);
    }
    end_job(job, false);
}

/// Counts a tensor that is not written because its run is being or was removed.
void TensorSaver::count_gone(const SavingJob& job) {
    WhyEvicted why = WhyEvicted::older;
    {
        const std::lock_guard lock(mutex_);
        why = runs_.why_gone(job.run).value_or(why);
    }
    counts_.removed[static_cast<std::size_t>(why)].fetch_add(1, std::memory_order_relaxed);
    count_left_out(LeftOut::run_went);
}

void TensorSaver::count_left_out(LeftOut why) {
    counts_.left_out[static_cast<std::size_t>(why)].fetch_add(1, std::memory_order_relaxed);
}

/// Ends the job. Its file exists, or nothing of it is left.
void TensorSaver::end_job(SavingJob& job, bool is_valid) {
    job.stage = SavingJob::Stage::over;
    job.file.reset();
    job.frame = {};
    const std::lock_guard lock(mutex_);
    if (!is_valid) return_grant(job);
    if (job.has_folder) runs_.note_folder(job.run, job.folder);
    if (job.has_folder && !is_valid && !runs_.any_may_go() && vain_folders_.size() < kMostVainFolders)
        vain_folders_.insert(job.folder);
    runs_.end_file(job.run, {is_valid ? job.path() : std::string(), job.content}, job.index_bytes);
    if (!is_valid || runs_.is_going(job.run)) note_freed();
}

/// Requires mutex_.
void TensorSaver::return_grant(SavingJob& job) {
    if (job.has_grant) budget_.give_back(job.granted, job.settled);
    job.has_grant = false;
}

void TensorSaver::take_freed_by(SavingJob& job, std::vector<SavingJob*>& freed) {
    if (!job.is_claimed) return;
    job.is_claimed = false;
    const std::lock_guard lock(mutex_);
    const auto claimed = claimed_.find(job.key);
    const std::vector<SavingJob*>& waiting = claimed->second.waiting;
    freed.insert(freed.end(), waiting.begin(), waiting.end());
    claimed_.erase(claimed);
}

void TensorSaver::end_run(std::uint32_t run, bool had_finding) {
    const std::lock_guard lock(mutex_);
    runs_.end_run(run, had_finding);
}

bool TensorSaver::has_to_evict() {
    const std::lock_guard lock(mutex_);
    return runs_.has_chores();
}

}  // namespace aoti_dbg
