#include "shim/calls/session.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <mutex>
#include <new>

#include "base/errno_keeper.hpp"
#include "base/file_failure.hpp"
#include "base/message.hpp"
#include "base/private_folder.hpp"
#include "config/selection.hpp"
#include "shim/calls/coverage_line.hpp"
#include "shim/calls/models.hpp"
#include "shim/calls/session_part.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/record/out_folder.hpp"
#include "shim/record/process_notes.hpp"
#include "shim/runtime/clock.hpp"
#include "shim/runtime/deadline_lock.hpp"
#include "shim/runtime/process.hpp"
#include "shim/runtime/process_tree.hpp"

namespace aoti_dbg {

Session::Session(const Options& options, const Origin& start)
    : pid_(getpid()), is_start_(start.pid == pid_), begun_unix_ns_(unix_nanoseconds()) {
    if (may_select(options)) {
        Result<std::unique_ptr<LineLog>> log = LineLog::open(options.log);
        if (!log.ok()) {
            message(Severity::warn, "%s. Log lines go to standard error. %s", log.status().message().c_str(),
                    remedy_for(log.status(), "AOTI_DBG_LOG", PlaceKind::file).c_str());
            log = LineLog::open("stderr");
        }
        if (log.ok()) log_ = std::move(log.value());
    }
    if (options.ring != 0 || options.timeline || options.captures || may_find(options) || may_save(options))
        open_folder(options, start);
    if (options.ring != 0 && !folder_.empty()) open_ring(options);
    if (options.records_all() && ring_ != nullptr)
        notes_ = new ProcessNotes(process_path(ring_->path()), own_process_facts(pid_));
    start_session_parts(*this);
}

void Session::open_folder(const Options& options, const Origin& start) {
    const std::string own_name = own_folder_name(start);
    // The command has chosen another place before the start, and would not find ours.
    const bool may_be_another = options.triage && options.ring != 0 && !is_tallied();
    const Result<std::string> folder =
        make_out_folder(options, start, own_name, may_be_another ? options.least_room() : 0);
    if (folder.ok()) {
        folder_ = folder.value();
        return;
    }
    if (may_be_another && open_private_folder(options, folder.status())) return;
    message(Severity::warn, "%s. There is no flight recorder ring, and no events are recorded. %s",
            folder.status().message().c_str(),
            remedy_for(folder.status(), "AOTI_DBG_OUT", PlaceKind::directory).c_str());
}

bool Session::open_private_folder(const Options& options, const Status& why) {
    const Result<std::string> folder = make_private_folder(options.ample_room(), options.least_room());
    if (!folder.ok()) return false;
    folder_ = folder.value();
    is_private_ = true;
    message(Severity::warn, "%s. The output goes to %s, which is kept if it holds a report. %s",
            why.message().c_str(), folder_.c_str(),
            remedy_for(why, "AOTI_DBG_OUT", PlaceKind::directory).c_str());
    return true;
}

void Session::leave_private_folder() {
    if (!is_private_) return;
    for (const SessionPart* const part : parts())
        if (part->has_files()) return;
    const int folder = open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool has_report = folder >= 0 && faccessat(folder, "report.json", F_OK, 0) == 0;
    if (folder >= 0) close(folder);
    if (!has_report) remove_private_folder(folder_.c_str());
}

void Session::open_ring(const Options& options) {
    // Several processes, or consecutive runs, may share a folder.
    std::string path = folder_ + "/flight.ring";
    if (access(path.c_str(), F_OK) == 0) {
        path = folder_ + "/flight-" + std::to_string(pid_) + ".ring";
    }
    Result<std::unique_ptr<FlightRing>> ring = FlightRing::create(path, options.ring);
    if (ring.ok()) {
        ring_ = std::move(ring.value());
    } else {
        message(Severity::warn, "%s. There is no flight recorder ring. %s", ring.status().message().c_str(),
                remedy_for(ring.status(), "AOTI_DBG_OUT", PlaceKind::directory).c_str());
    }
}

ThreadState* Session::attach_thread() {
    ThreadState* state = nullptr;
    {
        const std::lock_guard lock(wiped_page().threads_mutex);
        if (!free_.empty()) {
            state = free_.back();
            free_.pop_back();
        }
    }
    if (state == nullptr) {
        state = new (std::nothrow) ThreadState;
        if (state == nullptr) return nullptr;
        const std::lock_guard lock(wiped_page().threads_mutex);
        threads_.push_back(state);
    }
    state->session = this;
    if (ring_) state->ring = ring_->add_thread();
    if (state->ring) state->progress.tid.store(state->ring.header()->tid, std::memory_order_release);
    return state;
}

void Session::detach_thread(ThreadState* state) {
    for (SessionPart* const part : parts())
        part->thread_ends(*state);
    if (ring_) ring_->retire_thread(state->ring);
    const std::lock_guard lock(wiped_page().threads_mutex);
    ended_counts_.add(state->counts);
    state->~ThreadState();
    free_.push_back(new (state) ThreadState);
}

void Session::publish_names(std::uint32_t id) {
    ring_->publish_names(id);
    std::uint32_t known = published_.load(std::memory_order_relaxed);
    while (known <= id && !published_.compare_exchange_weak(known, id + 1, std::memory_order_release)) {
    }
}

void Session::publish_numbered_contexts() {
    const std::uint32_t changes = context_changes();
    for (std::uint8_t number = 1; number <= ring::kMostContexts; ++number) {
        const ring::DeviceContext context = numbered_context(number);
        if (context.handle == 0) continue;
        ring_->note_context(number, context);
        for (SessionPart* const part : parts())
            part->context_appears(context);
    }
    contexts_published_.store(changes, std::memory_order_relaxed);
}

bool Session::end() {
    for (SessionPart* const part : parts())
        part->finish();
    if (ring_) ring_->note_end();
    Counts all;
    add_counts(all);
    CoverageLine line;
    for (const CoverageLine::Section section : CoverageLine::kSections) {
        // Closing a file may lose an event, which the line then counts.
        if (section == CoverageLine::Section::losses) close_parts(line.named());
        line.begin(section);
        line.begin_part();
        append_coverage(all, line);
        for (const SessionPart* const part : parts()) {
            line.begin_part();
            part->append_coverage(line);
        }
    }
    message(Severity::info, "%s", line.line());
    bool is_bad = all.failed.get() != 0 || all.exceptions.get() != 0;
    for (SessionPart* const part : parts())
        is_bad = part->conclude() || is_bad;
    if (log_) log_->close();
    return is_bad;
}

bool Session::has_failed_call() {
    Counts all;
    add_counts(all);
    return all.failed.get() != 0 || all.exceptions.get() != 0;
}

void Session::context_ends(CUctx_st* context) {
    for (SessionPart* const part : parts())
        part->context_ends(context);
}

void Session::device_context_may_end(int device) {
    for (SessionPart* const part : parts())
        part->device_context_may_end(device);
}

void Session::device_ends(int device) {
    for (SessionPart* const part : parts())
        part->device_ends(device);
}

void Session::close_parts(std::span<const NamedCount> counts) {
    for (SessionPart* const part : parts())
        part->close(counts);
}

void Session::add_counts(Counts& all) {
    if (!lock_with_deadline(wiped_page().threads_mutex)) return;
    const std::lock_guard lock(wiped_page().threads_mutex, std::adopt_lock);
    all.add(ended_counts_);
    for (const ThreadState* state : threads_)
        all.add(state->counts);
}

void Session::append_coverage(const Counts& all, CoverageLine& line) {
    const ModelCounts models = count_models();
    std::uint64_t printed = all.printed.get();
    for (const SessionPart* const part : parts())
        printed += part->printed();
    line.count("", models.seen, "model", "models", "models");
    line.count(", ", all.runs.get(), "run", "runs", "runs");
    line.count(", ", all.calls.get(), "call", "calls", "calls");
    line.rest(printed, "printed", "printed");
    line.rest(all.filtered.get(), "not selected", "not_selected");
    if (const std::uint64_t skipped = all.skipped.get(); skipped != 0)
        line.count("; ", skipped, "run skipped", "runs skipped", "runs_skipped");
    line.rest(all.children.get(), "outside the scope", "outside_of_scope");
    line.rest(all.failed.get(), "returned an error", "returned_an_error");
    line.rest(all.exceptions.get(), "unwound by an exception", "left_by_exception");
    line.rest(all.deep.get(), "nested too deep", "nested_too_deep");
    line.rest(all.serialized.get(), "serialized by completion markers (programmatic dependent launches)",
              "serialized_by_markers");
    line.rest(all.unsafe.get() + models.unbound, "not intercepted (unknown arguments or no free stub)",
              "not_seen");
    if (log_) {
        line.loss(log_->lost(), "line lost", "lines lost");
        line.file("log", log_->path());
    }
    if (ring_) line.file("ring", ring_->path());
}

void end_context_in_session(CUctx_st* context) {
    const ErrnoKeeper errno_keeper;
    Session* const session = wiped_page().session.load(std::memory_order_acquire);
    if (session != nullptr) session->context_ends(context);
}

void release_context_in_session(int device) {
    const ErrnoKeeper errno_keeper;
    Session* const session = wiped_page().session.load(std::memory_order_acquire);
    if (session != nullptr) session->device_context_may_end(device);
}

void end_device_in_session(int device) {
    const ErrnoKeeper errno_keeper;
    Session* const session = wiped_page().session.load(std::memory_order_acquire);
    if (session != nullptr) session->device_ends(device);
}

}  // namespace aoti_dbg
