#include "shim/save/tensor_writers.hpp"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/message.hpp"
#include "config/byte_size.hpp"
#include "shim/runtime/clock.hpp"
#include "shim/runtime/own_descriptors.hpp"
#include "shim/runtime/own_thread.hpp"
#include "shim/save/tensor_writers_job.hpp"

namespace aoti_dbg {
namespace {

// The most queued tensors, half a kilobyte each.
constexpr std::uint32_t kMostOpenJobs = 8192;
// More threads only wait for the file system and for each other (bench/save_bench). On two processors four
// threads write no faster than two. On larger machines the program keeps half of the processors.
constexpr std::uint32_t kMostThreadsUnasked = 8;
constexpr std::uint32_t kMostOfFew = 4;
constexpr std::uint64_t kBetweenLines = 5'000'000'000;

std::uint32_t threads_that_do_well() {
    cpu_set_t processors;
    CPU_ZERO(&processors);
    if (sched_getaffinity(0, sizeof processors, &processors) != 0) return kMostOfFew;
    const auto count = static_cast<std::uint32_t>(CPU_COUNT(&processors));
    return count <= kMostOfFew ? std::max(count, 1U) : std::clamp(count / 2, kMostOfFew, kMostThreadsUnasked);
}

}  // namespace

TensorWriters::TensorWriters(std::uint32_t threads) : requested_(threads) {}
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
    settings.for_fault = options.capture_on == CaptureOn::fault;
    settings.portable_names = options.portable_names;
    return settings;
}

Result<TensorWriters*> TensorWriters::start(const SavingSettings& settings, std::uint32_t threads) {
    auto* const writers = new TensorWriters(threads == 0 ? threads_that_do_well() : threads);
    Result<std::unique_ptr<TensorSaver>> saver =
        TensorSaver::make(settings, [writers](Severity severity, std::string line) {
            writers->messages_.say(severity, std::move(line));
        });
    if (!saver.ok()) {
        delete writers;
        return saver.status();
    }
    writers->saver_ = std::move(saver.value());
    writers->threads_ = 1;
    if (!start_own_thread(run_first, writers)) {
        writers->threads_ = 0;
        return Status::error("cannot create a thread to write tensors");
    }
    return writers;
}

void* TensorWriters::run_first(void* writers) {
    auto* const self = static_cast<TensorWriters*>(writers);
    name_own_thread();
    // Create the other threads here, because a thread shares the descriptor table of its creator.
    const bool own = take_own_descriptors();
    self->saver_->keep_folders_open(own);
    if (own) {
        self->write_back_.start();
        self->saver_->report_writes_to(&self->write_back_);
    }
    self->has_own_descriptors_.store(own, std::memory_order_relaxed);
    for (std::uint32_t i = 1; i < self->requested_; ++i) {
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
        messages_.say(Severity::warn,
                      "out of memory while saving tensors. No more tensors are saved. Save fewer calls.");
        abandon();
    }
}

void TensorWriters::leave_out(LeftOut why) {
    print_news();
    saver_->count_left_out(why);
}

SavingJob* TensorWriters::open(const TensorToSave& what, std::uint32_t patience_ms) {
    print_news();
    const auto refuse = [this](LeftOut why) {
        saver_->count_left_out(why);
        return nullptr;
    };
    if (is_ending_.load(std::memory_order_relaxed)) return refuse(LeftOut::late);
    Job* job = nullptr;
    {
        std::unique_lock lock(mutex_);
        const bool has_room = room_.wait_for(lock, std::chrono::milliseconds(patience_ms),
                                             [this] { return open_jobs_ < kMostOpenJobs || is_ending_; });
        if (!has_room || is_ending_) return refuse(is_ending_ ? LeftOut::late : LeftOut::queue_full);
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
    job->parts.clear();
    job->part_failed = {};
    const bool is_taken = saver_->open(what, *job);
    std::unique_lock lock(mutex_);
    if (is_taken && !is_over_) {
        job->is_open = true;
        return job;
    }
    --open_jobs_;
    free_.push_back(job);
    room_.notify_one();
    lock.unlock();
    if (is_taken) saver_->leave_out(*job, LeftOut::late);
    return nullptr;
}

void TensorWriters::expect(SavingJob* job, const SavedFacts& facts) {
    Job& its = *static_cast<Job*>(job);
    const std::lock_guard lock(mutex_);
    its.closed_facts = facts;
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
    saver_->note_complete(its);
    const std::lock_guard lock(mutex_);
    its.closed_facts = facts;
    its.is_closed = true;
    if (is_over_) return;
    unfinished_.fetch_add(1, std::memory_order_relaxed);
    make_ready(its);
}

void TensorWriters::hand_over(SavingJob* job, const SavedFacts& facts, std::uint64_t zeros,
                              const TensorChunk& chunk) {
    Job& its = *static_cast<Job*>(job);
    bytes_appended_.fetch_add(zeros + chunk.bytes.size(), std::memory_order_relaxed);
    saver_->note_complete(its);
    {
        const std::lock_guard lock(mutex_);
        its.closed_facts = facts;
        its.is_closed = true;
        if (!is_over_) {
            if (zeros != 0) its.chunks.push_back(hole(zeros));
            if (!chunk.bytes.empty()) its.chunks.push_back(chunk);
            unfinished_.fetch_add(1, std::memory_order_relaxed);
            make_ready(its);
            return;
        }
    }
    release(hole(zeros));
    release(chunk);
}

void TensorWriters::give_up(SavingJob* job) {
    {
        const std::lock_guard lock(mutex_);
        static_cast<Job*>(job)->is_given_up = true;
    }
    close(job, {});
}

/// Requires mutex_. A job that was already served goes to the front. At the back it would wait for all newer
/// jobs, and its run would stay incomplete for that long.
void TensorWriters::make_ready(Job& job, Place place) {
    job.is_due = job.is_busy;
    if (job.is_ready || job.is_busy || job.waits) return;
    job.is_ready = true;
    if (place == Place::front) {
        ready_.push_front(&job);
    } else {
        ready_.push_back(&job);
    }
    work_.notify_one();
}

void TensorWriters::end_of_run(std::uint32_t run, bool had_finding) {
    print_news();
    saver_->end_run(run, had_finding);
    if (!saver_->has_to_evict()) return;
    const std::lock_guard lock(mutex_);
    has_chores_ = true;
    work_.notify_one();
}

SaveProgress TensorWriters::progress() const {
    const SavedCounts& counts = saver_->counts();
    SaveProgress progress;
    progress.files = counts.files_on_disk();
    progress.linked = counts.linked_on_disk();
    progress.removed = counts.all_removed();
    progress.bytes = counts.bytes.load(std::memory_order_relaxed);
    progress.jobs_left = unfinished_.load(std::memory_order_relaxed);
    // Keep this order: handled bytes were appended before.
    progress.bytes_handled = bytes_handled_.load(std::memory_order_acquire);
    progress.bytes_left = bytes_appended_.load(std::memory_order_relaxed) - progress.bytes_handled;
    progress.left_out = counts.all_left_out();
    return progress;
}

void TensorWriters::print_news() {
    messages_.print();
    // A log of a program that saves for hours needs no such lines.
    if (is_progress_due() && isatty(STDERR_FILENO) == 1) print_progress("");
}

/// Returns true every few seconds while tensors wait to be written.
bool TensorWriters::is_progress_due() {
    const std::uint64_t now = coarse_nanoseconds();
    std::uint64_t next = next_progress_.load(std::memory_order_relaxed);
    if (unfinished_.load(std::memory_order_relaxed) != 0)
        return now >= next && next_progress_.compare_exchange_strong(next, now + kBetweenLines);
    next_progress_.store(now + kBetweenLines, std::memory_order_relaxed);
    return false;
}

/// Allocates nothing, because a std::string holds the text of a byte size without allocating.
void TensorWriters::print_progress(const char* hint) const {
    const SaveProgress now = progress();
    message(Severity::info, "saving tensors: %llu saved, %s written; %llu to go, %s.%s",
            static_cast<unsigned long long>(now.files), byte_size_text(now.bytes).c_str(),
            static_cast<unsigned long long>(now.jobs_left), byte_size_text(now.bytes_left).c_str(), hint);
}

}  // namespace aoti_dbg
