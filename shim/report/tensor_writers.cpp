#include "shim/report/tensor_writers.hpp"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/message.hpp"
#include "shim/measure/own_thread.hpp"
#include "shim/observe/clock.hpp"
#include "shim/observe/deadline_lock.hpp"
#include "shim/report/own_descriptors.hpp"

namespace aoti_dbg {
namespace {

// Tensors that wait, half a kilobyte each.
constexpr std::uint32_t kMostJobs = 8192;
// Between two looks at whether everything is abandoned.
constexpr std::size_t kSlice = std::size_t{8} << 20U;
// More of them wait for the file system and for each other (bench/save_bench): on two processors four write
// no more than two.
constexpr std::uint32_t kMostThreadsUnasked = 4;
// For threads to see that it is over, behind the deadline.
constexpr std::uint32_t kLastMilliseconds = 500;

std::uint32_t threads_that_do_well() {
    cpu_set_t processors;
    CPU_ZERO(&processors);
    if (sched_getaffinity(0, sizeof processors, &processors) != 0) return kMostThreadsUnasked;
    return std::clamp<std::uint32_t>(static_cast<std::uint32_t>(CPU_COUNT(&processors)), 1,
                                     kMostThreadsUnasked);
}

/// True as soon as `condition` is, false after so long.
template <typename Condition>
bool wait_for(Condition condition, std::uint32_t milliseconds) {
    const std::uint64_t end = monotonic_nanoseconds() + std::uint64_t{milliseconds} * 1'000'000U;
    while (!condition()) {
        if (monotonic_nanoseconds() >= end) return false;
        const timespec nap{0, 200'000};
        nanosleep(&nap, nullptr);
    }
    return true;
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
        [writers](Severity severity, std::string line) { writers->say(severity, std::move(line)); });
    if (!saver.ok()) {
        delete writers;
        return saver.status();
    }
    writers->saver_ = std::move(saver.value());
    writers->asked_at_ns_ = monotonic_nanoseconds();
    writers->threads_ = 1;
    if (!start_own_thread(run_first, writers)) {
        writers->threads_ = 0;
        return Status::error("no thread can be made to write tensors");
    }
    // Without it lines are told when somebody comes by.
    (void)start_own_thread(run_teller, writers);
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
        say(Severity::error, "no memory to save tensors; no more are saved; save fewer calls");
        abandon();
    }
}

SavingJob* TensorWriters::open(const TensorToSave& what, std::uint32_t patience_ms) {
    tell();
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
    bytes_left_.fetch_add(chunk.bytes.size(), std::memory_order_relaxed);
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
    const std::lock_guard lines_lock(lines_mutex_);
    has_ended_.store(true, std::memory_order_release);
    lines_there_.notify_all();
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
    std::span<const std::byte> rest = chunk.bytes;
    while (job.stage == SavingJob::Stage::writing) {
        if (const std::optional<LeftOut> why = why_over()) return saver_->leave_out(job, *why);
        const std::span<const std::byte> slice = rest.first(std::min(rest.size(), kSlice));
        rest = rest.subspan(slice.size());
        saver_->write(job, slice, is_last && rest.empty());
        if (rest.empty()) return;
    }
}

void TensorWriters::release(const TensorChunk& chunk) {
    bytes_left_.fetch_sub(chunk.bytes.size(), std::memory_order_relaxed);
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
    tell();
    const SavedCounts& counts = saver_->counts();
    SavingProgress progress;
    progress.files = counts.files.load(std::memory_order_relaxed);
    progress.linked = counts.linked.load(std::memory_order_relaxed);
    progress.bytes = counts.bytes.load(std::memory_order_relaxed);
    progress.jobs_left = unfinished_.load(std::memory_order_relaxed);
    progress.bytes_left = bytes_left_.load(std::memory_order_relaxed);
    for (const auto& left_out : counts.left_out)
        progress.left_out += left_out.load(std::memory_order_relaxed);
    const std::lock_guard lock(progress_mutex_);
    const std::uint64_t now = monotonic_nanoseconds();
    const double seconds = static_cast<double>(now - asked_at_ns_) * 1e-9;
    if (seconds > 0) progress.bytes_per_second = static_cast<double>(progress.bytes - bytes_then_) / seconds;
    if (progress.bytes_per_second > 0) {
        progress.seconds_left = static_cast<double>(progress.bytes_left) / progress.bytes_per_second;
    }
    asked_at_ns_ = now;
    bytes_then_ = progress.bytes;
    return progress;
}

bool TensorWriters::drain(std::uint32_t patience_ms) {
    return wait_for([this] { return unfinished_.load(std::memory_order_acquire) == 0; }, patience_ms);
}

/// A thread that is about to sleep holds the lock, unless it was interrupted by the signal that ends us.
void TensorWriters::wake() {
    const bool locked = lock_with_deadline(mutex_);
    work_.notify_all();
    room_.notify_all();
    if (locked) mutex_.unlock();
}

bool TensorWriters::finish(std::uint32_t patience_ms) {
    const bool drained = drain(patience_ms);
    if (!drained && !is_abandoned_.load(std::memory_order_relaxed))
        is_late_.store(true, std::memory_order_relaxed);
    is_ending_.store(true, std::memory_order_relaxed);
    wake();
    const bool ended =
        wait_for([this] { return has_ended_.load(std::memory_order_acquire); }, kLastMilliseconds);
    tell();
    return drained && ended;
}

void TensorWriters::abandon() {
    is_abandoned_.store(true, std::memory_order_relaxed);
    is_ending_.store(true, std::memory_order_relaxed);
    wake();
}

void TensorWriters::say(Severity severity, std::string line) {
    const std::lock_guard lock(lines_mutex_);
    if (said_ < lines_.size()) lines_[said_++] = {severity, std::move(line)};
    lines_there_.notify_one();
}

/// By a thread whose standard error is the program's.
void TensorWriters::tell() {
    while (lock_with_deadline(lines_mutex_)) {
        const Line* const line = told_ < said_ ? &lines_[told_++] : nullptr;
        lines_mutex_.unlock();
        if (line == nullptr) return;
        message(line->severity, "%s", line->text.c_str());
    }
}

void* TensorWriters::run_teller(void* writers) {
    auto* const self = static_cast<TensorWriters*>(writers);
    name_own_thread();
    while (!self->has_ended_.load(std::memory_order_acquire)) {
        {
            std::unique_lock lock(self->lines_mutex_);
            self->lines_there_.wait(lock, [self] {
                return self->told_ < self->said_ || self->has_ended_.load(std::memory_order_acquire);
            });
        }
        self->tell();
    }
    return nullptr;
}

}  // namespace aoti_dbg
