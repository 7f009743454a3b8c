#include "shim/report/tensor_writers.hpp"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "shim/measure/own_thread.hpp"
#include "shim/report/own_descriptors.hpp"

namespace aoti_dbg {
namespace {

// Tensors that wait, half a kilobyte each.
constexpr std::uint32_t kMostJobs = 8192;
// Between two looks at whether everything is abandoned: a moment also on a slow disk.
constexpr std::size_t kSlice = std::size_t{1} << 20U;
// More of them wait for the file system and for each other (bench/save_bench): on two processors four write
// no more than two.
constexpr std::uint32_t kMostThreadsUnasked = 4;

std::uint32_t threads_that_do_well() {
    cpu_set_t processors;
    CPU_ZERO(&processors);
    if (sched_getaffinity(0, sizeof processors, &processors) != 0) return kMostThreadsUnasked;
    return std::clamp<std::uint32_t>(static_cast<std::uint32_t>(CPU_COUNT(&processors)), 1,
                                     kMostThreadsUnasked);
}

}  // namespace

struct TensorWriters::Job : SavingJob {
    std::vector<TensorChunk> chunks;  // not looked at yet
    std::vector<TensorChunk> taken_chunks;
    SavedFacts told;       // by close()
    bool is_open = false;  // somebody outside has it, or the queue
    bool is_closed = false;
    bool is_expected = false;  // what it is was told beforehand
    bool is_given_up = false;
    bool is_lost = false;   // given up, as the thread that has it knows
    bool is_ready = false;  // it is in the queue
    bool is_busy = false;   // a thread has it
    bool is_due = false;    // something came while a thread had it
    bool waits = false;     // for another one with the same content
};

TensorWriters::TensorWriters(std::uint32_t threads) : wanted_(threads) {}
TensorWriters::~TensorWriters() = default;

SavingSettings saving_settings(const Options& options, const std::string& out, const std::string& here,
                               const HeaderFacts& header) {
    SavingSettings settings;
    settings.place.out = out;
    if (options.pt_layout == PtLayout::torch) {
        const std::string& given = options.torch_save_dir;
        settings.place.follows_link = !given.empty();
        settings.place.flat = given.empty() ? here + "/tmp/aoti_torch" : given;
        if (settings.place.flat.front() != '/') settings.place.flat = here + "/" + settings.place.flat;
        while (settings.place.flat.size() > 1 && settings.place.flat.back() == '/')
            settings.place.flat.pop_back();
    }
    settings.header = header;
    settings.max_bytes = options.max_bytes;
    settings.max_files = options.max_files;
    settings.keep_last = options.keep_last;
    settings.only_findings = options.save_on == SaveOn::finding;
    settings.portable_names = options.portable_names;
    return settings;
}

Result<TensorWriters*> TensorWriters::start(const SavingSettings& settings, std::uint32_t threads) {
    auto* const writers = new TensorWriters(threads == 0 ? threads_that_do_well() : threads);
    Result<std::unique_ptr<TensorSaver>> saver = TensorSaver::make(
        settings,
        [writers](Severity severity, std::string line) { writers->teller_.say(severity, std::move(line)); });
    if (!saver.ok()) {
        delete writers;
        return saver.status();
    }
    writers->saver_ = std::move(saver.value());
    writers->threads_ = 1;
    if (!start_own_thread(run_first, writers)) {
        writers->threads_ = 0;
        return Status::error("no thread can be made to write tensors");
    }
    writers->teller_.start([writers] { return writers->numbers(); });
    return writers;
}

void* TensorWriters::run_first(void* writers) {
    auto* const self = static_cast<TensorWriters*>(writers);
    name_own_thread();
    // The others are made here, since a thread shares the table of the one that makes it.
    const bool own = take_own_descriptors();
    self->saver_->keep_folders_open(own);
    self->has_own_descriptors_.store(own, std::memory_order_relaxed);
    for (std::uint32_t i = 1; i < self->wanted_; ++i) {
        {
            const std::lock_guard lock(self->mutex_);
            ++self->threads_;
        }
        if (start_own_thread(run_other, writers)) continue;
        const std::lock_guard lock(self->mutex_);
        --self->threads_;
        break;
    }
    self->run();
    return nullptr;
}

void* TensorWriters::run_other(void* writers) {
    name_own_thread();
    static_cast<TensorWriters*>(writers)->run();
    return nullptr;
}

void TensorWriters::run() {
    try {
        work();
    } catch (...) {
        teller_.say(Severity::error, "no memory to save tensors; no more are saved; save fewer calls");
        abandon();
    }
}

SavingJob* TensorWriters::open(const TensorToSave& what, std::uint32_t patience_ms) {
    teller_.tell();
    if (is_ending_.load(std::memory_order_relaxed)) return nullptr;
    Job* job = nullptr;
    {
        std::unique_lock lock(mutex_);
        const bool has_room = room_.wait_for(lock, std::chrono::milliseconds(patience_ms),
                                             [this] { return open_jobs_ < kMostJobs || is_ending_; });
        if (!has_room || is_ending_) return nullptr;
        ++open_jobs_;
        if (free_.empty()) {
            all_.push_back(std::make_unique<Job>());
            job = all_.back().get();
        } else {
            job = free_.back();
            free_.pop_back();
        }
    }
    job->chunks.clear();
    job->is_expected = job->is_closed = job->is_given_up = job->is_lost = job->is_ready = job->is_busy =
        job->is_due = job->waits = false;
    const bool is_taken = saver_->open(what, *job);
    std::unique_lock lock(mutex_);
    if (is_taken && !is_over_) {
        job->is_open = true;
        return job;
    }
    --open_jobs_;
    free_.push_back(job);
    lock.unlock();
    if (is_taken) saver_->leave_out(*job, LeftOut::late);
    return nullptr;
}

void TensorWriters::expect(SavingJob* job, const SavedFacts& facts) {
    Job& its = *static_cast<Job*>(job);
    const std::lock_guard lock(mutex_);
    its.told = facts;
    its.is_expected = true;
}

void TensorWriters::append(SavingJob* job, const TensorChunk& chunk) {
    Job& its = *static_cast<Job*>(job);
    bytes_appended_.fetch_add(chunk.bytes.size(), std::memory_order_relaxed);
    {
        const std::lock_guard lock(mutex_);
        if (!is_over_) {
            its.chunks.push_back(chunk);
            make_ready(its);
            return;
        }
    }
    release(chunk);
}

void TensorWriters::close(SavingJob* job, const SavedFacts& facts) {
    Job& its = *static_cast<Job*>(job);
    const std::lock_guard lock(mutex_);
    its.told = facts;
    its.is_closed = true;
    if (is_over_) return;
    unfinished_.fetch_add(1, std::memory_order_relaxed);
    make_ready(its);
}

void TensorWriters::give_up(SavingJob* job) {
    {
        const std::lock_guard lock(mutex_);
        static_cast<Job*>(job)->is_given_up = true;
    }
    close(job, {});
}

/// By mutex_.
void TensorWriters::make_ready(Job& job) {
    job.is_due = job.is_busy;
    if (job.is_ready || job.is_busy || job.waits) return;
    job.is_ready = true;
    ready_.push_back(&job);
    work_.notify_one();
}

void TensorWriters::end_of_run(std::uint32_t run, bool had_finding) {
    saver_->end_run(run, had_finding);
    if (!saver_->has_to_evict()) return;
    const std::lock_guard lock(mutex_);
    has_chores_ = true;
    work_.notify_one();
}

void TensorWriters::work() {
    TensorSaver::Hand hand;
    std::unique_lock lock(mutex_);
    while (true) {
        work_.wait(lock, [this] { return !ready_.empty() || has_chores_ || is_ending_; });
        if (!ready_.empty()) {
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
    leave_rest();
    saver_->end(is_abandoned_ ? "abandoned" : is_late_ ? "late" : "complete");
    has_ended_.store(true, std::memory_order_release);
}

/// With the lock, which is given back meanwhile.
void TensorWriters::serve(Job& job, TensorSaver::Hand& hand, std::unique_lock<std::mutex>& lock) {
    job.is_ready = false;
    job.is_busy = true;
    job.taken_chunks.insert(job.taken_chunks.end(), job.chunks.begin(), job.chunks.end());
    job.chunks.clear();
    const bool is_closed = job.is_closed;
    const bool is_told = is_closed || job.is_expected;
    if (is_told) job.facts = job.told;
    if (job.is_given_up) job.is_lost = true;
    lock.unlock();

    std::vector<SavingJob*> freed;
    visit(job, hand, is_told, is_closed, freed);

    lock.lock();
    job.is_busy = false;
    for (SavingJob* other : freed) {
        Job& its = *static_cast<Job*>(other);
        its.waits = false;
        make_ready(its);
    }
    if (is_closed && job.stage == SavingJob::Stage::over) {
        unfinished_.fetch_sub(1, std::memory_order_release);
        job.is_open = false;
        --open_jobs_;
        free_.push_back(&job);
        room_.notify_one();
    } else if (job.is_due) {
        make_ready(job);
    }
}

void TensorWriters::visit(Job& job, TensorSaver::Hand& hand, bool is_told, bool is_closed,
                          std::vector<SavingJob*>& freed) {
    if (const std::optional<LeftOut> why = job.is_lost ? LeftOut::incomplete : why_over())
        saver_->leave_out(job, *why);
    if (job.stage == SavingJob::Stage::fresh) {
        // Marked beforehand: it may be given back by another thread before begin() returns.
        {
            const std::lock_guard lock(mutex_);
            job.waits = true;
        }
        if (saver_->begin(job, is_told, hand) == TensorSaver::Begun::waits) return;
        const std::lock_guard lock(mutex_);
        job.waits = false;
    }
    for (std::size_t i = 0; i < job.taken_chunks.size(); ++i) {
        const TensorChunk chunk = job.taken_chunks[i];
        write_chunk(job, chunk, is_closed && i + 1 == job.taken_chunks.size());
        release(chunk);
    }
    const bool has_none = job.taken_chunks.empty();
    job.taken_chunks.clear();
    if (is_closed && job.stage == SavingJob::Stage::writing) {
        if (has_none) saver_->write(job, {}, true);
        saver_->finish(job, hand);
    }
    if (job.stage == SavingJob::Stage::over) saver_->take_freed_by(job, freed);
}

/// Asked between pieces: what waits is not written any more.
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

/// By the last thread: jobs that nobody has closed. Nobody else touches them any more.
void TensorWriters::leave_rest() {
    std::vector<SavingJob*> freed;
    for (const std::unique_ptr<Job>& job : all_) {
        if (!job->is_open) continue;
        saver_->leave_out(*job, is_abandoned_ ? LeftOut::abandoned : LeftOut::incomplete);
        saver_->take_freed_by(*job, freed);
        for (const TensorChunk& chunk : job->chunks)
            release(chunk);
        job->chunks.clear();
    }
}

SavingProgress TensorWriters::progress() {
    teller_.tell();
    return numbers();
}

SavingProgress TensorWriters::numbers() const {
    const SavedCounts& counts = saver_->counts();
    SavingProgress progress;
    progress.files = counts.files.load(std::memory_order_relaxed);
    progress.linked = counts.linked.load(std::memory_order_relaxed);
    progress.bytes = counts.bytes.load(std::memory_order_relaxed);
    progress.jobs_left = unfinished_.load(std::memory_order_relaxed);
    // In this order: what is handled was appended before.
    progress.bytes_handled = bytes_handled_.load(std::memory_order_acquire);
    progress.bytes_left = bytes_appended_.load(std::memory_order_relaxed) - progress.bytes_handled;
    for (const auto& left_out : counts.left_out)
        progress.left_out += left_out.load(std::memory_order_relaxed);
    return progress;
}

}  // namespace aoti_dbg
