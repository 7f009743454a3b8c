// The work of the writer threads: selects the next job, handles its outcome and splits large jobs into parts
// for any thread.
#include <algorithm>

#include "serializer/crc32.hpp"
#include "shim/save/tensor_writers_job.hpp"

namespace aoti_dbg {
namespace {

// Between two slices a thread checks whether saving was abandoned. A slice takes a moment even on a slow
// disk.
constexpr std::size_t kSlice = std::size_t{1} << 20U;

/// Returns all bytes that the job will write if they are at hand in one chunk, else nothing.
std::span<const std::byte> whole_of(const std::vector<TensorChunk>& chunks, bool is_closed) {
    const bool is_one = is_closed && chunks.size() == 1 && chunks.front().bytes.data() != nullptr;
    return is_one ? chunks.front().bytes : std::span<const std::byte>();
}

}  // namespace

/// The state of a job when a thread takes it, and the outcome.
struct TensorWriters::Visit {
    bool has_facts = false;
    bool is_closed = false;
    bool has_parts_out = false;
    Failed part_failed;
    std::vector<Part> parts;  // new parts
    std::vector<SavingJob*> freed;
};

void TensorWriters::work() {
    TensorSaver::Hand hand;
    std::unique_lock lock(mutex_);
    while (true) {
        work_.wait(lock, [this] { return !parts_.empty() || !ready_.empty() || has_chores_ || is_ending_; });
        if (!parts_.empty()) {
            const Part part = parts_.front();
            parts_.pop_front();
            write_part(part, lock);
        } else if (!ready_.empty()) {
            Job& job = *ready_.front();
            ready_.pop_front();
            serve(job, hand, lock);
        } else if (!has_chores_) {
            break;
        }
        has_chores_ = false;
        lock.unlock();
        while (saver_->evict_one(hand)) {
        }
        lock.lock();
    }
    if (--threads_ != 0) return;
    is_over_ = true;
    lock.unlock();
    write_back_.end();
    leave_rest();
    if (removes_all_.load(std::memory_order_relaxed)) saver_->remove_all_runs();
    while (saver_->evict_one(hand)) {
    }
    saver_->end(is_abandoned_ ? "abandoned" : is_late_ ? "late" : "complete");
    has_ended_.store(true, std::memory_order_release);
}

/// Call with the lock. Releases it during the work.
void TensorWriters::serve(Job& job, TensorSaver::Hand& hand, std::unique_lock<std::mutex>& lock) {
    job.is_ready = false;
    job.is_busy = true;
    job.taken_chunks.insert(job.taken_chunks.end(), job.chunks.begin(), job.chunks.end());
    job.chunks.clear();
    Visit visit;
    visit.is_closed = job.is_closed;
    visit.has_facts = visit.is_closed || job.is_expected;
    visit.has_parts_out = job.parts_out != 0;
    visit.part_failed = job.part_failed;
    if (visit.has_facts) job.facts = job.closed_facts;
    if (job.is_given_up) job.is_lost = true;
    lock.unlock();

    this->visit(job, hand, visit);

    lock.lock();
    job.is_busy = false;
    for (SavingJob* other : visit.freed) {
        Job& its = *static_cast<Job*>(other);
        its.waits = false;
        make_ready(its, Place::front);
    }
    job.parts_out += static_cast<std::uint32_t>(visit.parts.size());
    for (const Part& part : visit.parts) {
        parts_.push_back(part);
        work_.notify_one();
    }
    if (visit.is_closed && job.stage == SavingJob::Stage::over) {
        unfinished_.fetch_sub(1, std::memory_order_release);
        job.is_open = false;
        --open_jobs_;
        free_.push_back(&job);
        room_.notify_one();
    } else if (job.is_due) {
        make_ready(job, Place::front);
    }
}

void TensorWriters::visit(Job& job, TensorSaver::Hand& hand, Visit& visit) {
    // The file must stay while other threads write to it.
    if (!visit.has_parts_out) {
        if (const std::optional<LeftOut> why = job.is_lost ? LeftOut::incomplete : why_over())
            saver_->leave_out(job, *why);
    }
    if (job.stage == SavingJob::Stage::fresh) {
        // Set this first: another thread may free the job before begin() returns.
        {
            const std::lock_guard lock(mutex_);
            job.waits = true;
        }
        const std::span<const std::byte> whole = whole_of(job.taken_chunks, visit.is_closed);
        if (saver_->begin(job, visit.has_facts, hand, whole) == TensorSaver::Begun::waits) return;
        const std::lock_guard lock(mutex_);
        job.waits = false;
    }
    take_chunks(job, visit);
    if (!visit.has_parts_out && visit.parts.empty()) end_if_complete(job, hand, visit);
    if (job.stage == SavingJob::Stage::over) saver_->take_freed_by(job, visit.freed);
}

void TensorWriters::take_chunks(Job& job, Visit& visit) {
    for (std::size_t i = 0; i < job.taken_chunks.size(); ++i) {
        const TensorChunk chunk = job.taken_chunks[i];
        const bool is_part = job.in_parts && job.stage == SavingJob::Stage::writing;
        if (!is_part) {
            write_chunk(job, chunk, visit.is_closed && i + 1 == job.taken_chunks.size());
            release(chunk);
            continue;
        }
        const std::uint64_t from = job.taken;
        job.is_lost =
            job.is_lost || chunk.bytes.size() > job.storage_bytes - from;  // more bytes than announced
        if (job.is_lost) {
            release(chunk);
            continue;
        }
        job.taken += chunk.bytes.size();
        visit.parts.push_back({&job, chunk, from, &job.parts.emplace_back()});
    }
    if (job.taken_chunks.empty() && visit.is_closed && job.stage == SavingJob::Stage::writing &&
        !job.in_parts)
        saver_->write(job, {}, true);
    job.taken_chunks.clear();
}

void TensorWriters::end_if_complete(Job& job, TensorSaver::Hand& hand, Visit& visit) {
    if (job.stage != SavingJob::Stage::writing) return;
    if (visit.part_failed) return saver_->fail(visit.part_failed, job);
    if (job.is_lost) return saver_->leave_out(job, LeftOut::incomplete);
    if (!visit.is_closed) return;
    if (job.in_parts && job.taken == job.storage_bytes) {
        std::uint32_t crc = 0;
        for (const Job::Checked& part : job.parts)
            crc = crc32_combine(crc, part.crc, part.bytes);
        saver_->write_frame(job, crc);
    }
    saver_->finish(job, hand);
}

/// Call with the lock. Releases it during the work.
void TensorWriters::write_part(Part part, std::unique_lock<std::mutex>& lock) {
    Job& job = *part.job;
    const bool is_over = static_cast<bool>(job.part_failed);
    lock.unlock();
    const std::span<const std::byte> bytes = part.chunk.bytes;
    Job::Checked checked{0, bytes.size()};
    Failed failed;
    if (bytes.data() == nullptr) {
        checked.crc = crc32_of_zeros(bytes.size());
    } else {
        for (std::size_t at = 0; at < bytes.size() && !failed && !is_over && !why_over(); at += kSlice) {
            const std::size_t length = std::min(bytes.size() - at, kSlice);
            failed = saver_->write_part(job, part.from + at, bytes.subspan(at, length), checked.crc);
        }
    }
    release(part.chunk);
    lock.lock();
    *part.checked = checked;
    if (failed && !job.part_failed) job.part_failed = failed;
    if (--job.parts_out == 0) make_ready(job, Place::front);
}

/// The threads check this between pieces. A reason means that waiting data is not written.
std::optional<LeftOut> TensorWriters::why_over() const {
    if (is_abandoned_.load(std::memory_order_relaxed)) return LeftOut::abandoned;
    if (is_late_.load(std::memory_order_relaxed)) return LeftOut::late;
    return std::nullopt;
}

void TensorWriters::write_chunk(Job& job, const TensorChunk& chunk, bool is_last) {
    const std::size_t size = chunk.bytes.size();
    // Zeros without memory take no time.
    const std::size_t most = chunk.bytes.data() == nullptr ? size : kSlice;
    for (std::size_t at = 0; job.stage == SavingJob::Stage::writing;) {
        if (const std::optional<LeftOut> why = why_over()) return saver_->leave_out(job, *why);
        const std::size_t length = std::min(size - at, most);
        const bool ends = at + length == size;
        saver_->write(job, chunk.bytes.subspan(at, length), is_last && ends);
        if (ends) return;
        at += length;
    }
}

void TensorWriters::release(const TensorChunk& chunk) {
    bytes_handled_.fetch_add(chunk.bytes.size(), std::memory_order_release);
    if (chunk.release != nullptr) chunk.release(chunk.context);
}

/// The last thread calls this for jobs that were never closed. No other thread uses them any more.
void TensorWriters::leave_rest() {
    std::vector<SavingJob*> freed;
    for (const std::unique_ptr<Job>& job : all_) {
        if (!job->is_open) continue;
        saver_->leave_out(*job, is_abandoned_ ? LeftOut::abandoned : LeftOut::incomplete);
        saver_->take_freed_by(*job, freed);
        for (std::vector<TensorChunk>* const chunks : {&job->taken_chunks, &job->chunks}) {
            for (const TensorChunk& chunk : *chunks)
                release(chunk);
            chunks->clear();
        }
    }
}

}  // namespace aoti_dbg
