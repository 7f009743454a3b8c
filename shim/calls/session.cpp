#include "shim/calls/session.hpp"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>

#include "base/file_failure.hpp"
#include "base/message.hpp"
#include "base/private_folder.hpp"
#include "config/selection.hpp"
#include "serializer/allocation_map.hpp"
#include "serializer/tensor_map.hpp"
#include "shim/calls/models.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/check/checks.hpp"
#include "shim/faults/completion_markers.hpp"
#include "shim/faults/dump_request.hpp"
#include "shim/faults/fatal_signals.hpp"
#include "shim/faults/fault_watch.hpp"
#include "shim/faults/fault_window.hpp"
#include "shim/faults/hang_watch.hpp"
#include "shim/faults/reporter.hpp"
#include "shim/faults/seen_devices.hpp"
#include "shim/measure/measured_output.hpp"
#include "shim/measure/measurer.hpp"
#include "shim/measure/pending.hpp"
#include "shim/record/allocation_file.hpp"
#include "shim/record/out_folder.hpp"
#include "shim/record/process_notes.hpp"
#include "shim/record/tensor_map_file.hpp"
#include "shim/runtime/clock.hpp"
#include "shim/runtime/deadline_lock.hpp"
#include "shim/runtime/process.hpp"
#include "shim/runtime/process_tree.hpp"
#include "shim/save/saving.hpp"

namespace aoti_dbg {
namespace {

/// The line of coverage, composed without allocating, because a signal handler may run the exit code.
class CoverageLine {
  public:
    void count(const char* before, std::uint64_t number, const char* one, const char* many) {
        add("%s%llu %s", before, static_cast<unsigned long long>(number), number == 1 ? one : many);
    }
    void rest(std::uint64_t number, const char* what) {
        if (number != 0) count("; ", number, what, what);
    }
    void part(const char* text) {
        if (*text != '\0') add("; %s", text);
    }
    void add_text(const char* text) { add("%s", text); }
    void file(const char* what, const char* path) { add("; %s: %s", what, path); }
    [[nodiscard]] const char* text() const { return text_; }

  private:
    __attribute__((format(printf, 2, 3))) void add(const char* format, ...) {
        va_list arguments;
        va_start(arguments, format);
        const int written = vsnprintf(text_ + used_, sizeof text_ - used_, format, arguments);
        va_end(arguments);
        if (written > 0) used_ = std::min(sizeof text_ - 1, used_ + static_cast<std::size_t>(written));
    }

    char text_[kMessageCap] = "";
    std::size_t used_ = 0;
};

/// Adds a text like "138 tensors saved (110 linked); 2162 removed with older runs; 17 not saved (12 no room,
/// 5 too large)".
void add_saved(CoverageLine& line, const SavedCounts& counts) {
    const std::uint64_t files = counts.files_on_disk();
    const std::uint64_t linked = counts.linked_on_disk();
    line.count("; ", files, "tensor saved", "tensors saved");
    if (linked != 0) line.count(" (", linked, "linked)", "linked)");
    static constexpr std::array<const char*, kWhyEvictedKeys.size()> kRemoved = {
        "removed with older runs", "removed with runs without a finding", "removed to make room"};
    for (std::size_t i = 0; i < kRemoved.size(); ++i)
        line.rest(counts.removed[i].load(std::memory_order_relaxed), kRemoved[i]);
    const std::uint64_t left_out = counts.all_left_out();
    if (left_out == 0) return;
    line.rest(left_out, "not saved");
    const char* before = " (";
    for (std::size_t i = 0; i < kLeftOutTexts.size(); ++i) {
        const std::uint64_t number = counts.left_out[i].load(std::memory_order_relaxed);
        if (number == 0 || static_cast<LeftOut>(i) == LeftOut::run_went) continue;
        line.count(before, number, kLeftOutTexts[i], kLeftOutTexts[i]);
        before = ", ";
    }
    line.add_text(")");
}

/// Returns a map next to the ring, created at the first call. Returns null if it must not or cannot be
/// created. `what` names its contents in the warning.
template <typename File, typename Create>
File* map_made_once(std::mutex& creation_mutex, std::atomic<bool>& may_be, std::atomic<File*>& map,
                    const char* what, Create create) {
    File* known = map.load(std::memory_order_acquire);
    if (known != nullptr || !may_be.load(std::memory_order_relaxed)) return known;
    const std::lock_guard lock(creation_mutex);
    known = map.load(std::memory_order_acquire);
    if (known != nullptr || !may_be.load(std::memory_order_relaxed)) return known;
    Result<std::unique_ptr<File>> made = create();
    if (made.ok()) {
        known = made.value().release();
        map.store(known, std::memory_order_release);
        return known;
    }
    may_be.store(false, std::memory_order_relaxed);
    message(Severity::warn, "%s. Reports do not show %s. %s", made.status().message().c_str(), what,
            remedy_for(made.status(), "AOTI_DBG_OUT", PlaceKind::directory).c_str());
    return nullptr;
}

}  // namespace

Session::Session(const Options& options, const Origin& start) : pid_(getpid()) {
    const std::uint64_t begun = unix_nanoseconds();
    if (may_select(options)) {
        Result<std::unique_ptr<LineLog>> log = LineLog::open(options.log);
        if (!log.ok()) {
            message(Severity::warn, "%s. Log lines go to standard error. %s", log.status().message().c_str(),
                    remedy_for(log.status(), "AOTI_DBG_LOG", PlaceKind::file).c_str());
            log = LineLog::open("stderr");
        }
        if (log.ok()) log_ = std::move(log.value());
    }
    may_save_.store(may_save(options), std::memory_order_relaxed);
    if (options.ring != 0 || may_find(options) || may_save(options)) open_folder(options, start);
    if (options.ring != 0 && !folder_.empty()) open_ring(options);
    if (options.records_all() && ring_ != nullptr)
        notes_ = new ProcessNotes(process_path(ring_->path()), own_process_facts(pid_));
    if (may_find(options)) {
        output_ = new MeasuredOutput(options, folder_, log_.get());
        g_pending_points.store(0, std::memory_order_relaxed);  // a forked child has no pending points
        measurer_ = new Measurer(*output_);
    }
    may_map_allocations_.store(options.triage && ring_ != nullptr, std::memory_order_relaxed);
    may_map_tensors_.store(options.triage && ring_ != nullptr, std::memory_order_relaxed);
    watch_for_hangs(*this);
    be_ready_to_report(options, begun, start.pid == pid_);
}

void Session::be_ready_to_report(const Options& options, std::uint64_t since_unix_ns, bool is_start) {
    if (!options.triage || folder_.empty()) return;
    // The command waits for the process and reports its exit itself.
    const bool reports =
        !is_tallied() && prepare_reporter({folder_, folder_at_load(), since_unix_ns, is_start});
    if (reports || ring_ != nullptr) watch_fatal_signals();
}

AllocationFile* Session::allocations() {
    return map_made_once(maps_mutex_, may_map_allocations_, allocations_, "allocations",
                         [this] { return AllocationFile::create(allocations_path(ring_->path())); });
}

TensorMapFile* Session::make_tensor_map() {
    return map_made_once(maps_mutex_, may_map_tensors_, tensor_map_, "tensors",
                         [this] { return TensorMapFile::create(tensors_path(ring_->path())); });
}

Saving* Session::saving() {
    Saving* saving = present_saving();
    if (saving != nullptr || !may_save_.load(std::memory_order_relaxed)) return saving;
    const std::lock_guard lock(saving_mutex_);
    saving = present_saving();
    if (saving != nullptr || !may_save_.load(std::memory_order_relaxed)) return saving;
    char here[PATH_MAX];
    saving = Saving::start(options(), folder_, getcwd(here, sizeof here) == nullptr ? "/" : here);
    saving_.store(saving, std::memory_order_release);
    if (saving == nullptr) may_save_.store(false, std::memory_order_relaxed);
    return saving;
}

CompletionMarkers* Session::decide_markers() {
    const std::lock_guard lock(markers_mutex_);
    if (!has_decided_markers_.load(std::memory_order_relaxed)) {
        const DumpOfFault dump = dump_of_fault();
        if (ring_ && wants_markers(options(), dump, std::getenv("CUDA_LAUNCH_BLOCKING")))
            markers_.store(new (std::nothrow) CompletionMarkers(*ring_, dump), std::memory_order_relaxed);
        has_decided_markers_.store(true, std::memory_order_release);
    }
    return present_markers();
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
    if (!is_private_ || present_saving() != nullptr) return;
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
    if (CompletionMarkers* const markers = present_markers(); markers != nullptr && state->ring)
        markers->thread_ends(state->ring.header()->tid);
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
        note_device(static_cast<std::int32_t>(context.device));
    }
    contexts_published_.store(changes, std::memory_order_relaxed);
}

bool Session::end() {
    may_save_.store(false, std::memory_order_relaxed);
    if (Saving* saving = present_saving(); saving != nullptr) saving->finish();
    const bool output_rests = measurer_ != nullptr && measurer_->finish();
    if (CompletionMarkers* const markers = present_markers(); markers != nullptr) markers->look();
    if (ring_) ring_->note_end();
    const bool is_bad = say_coverage(output_rests);
    if (log_) log_->close();
    return is_bad;
}

bool Session::say_coverage(bool output_rests) {
    Counts all;
    if (lock_with_deadline(wiped_page().threads_mutex)) {
        const std::lock_guard lock(wiped_page().threads_mutex, std::adopt_lock);
        all.add(ended_counts_);
        for (const ThreadState* state : threads_)
            all.add(state->counts);
    }
    const ModelCounts models = count_models();
    const std::uint64_t printed = all.printed.get() + (output_ == nullptr ? 0 : output_->printed());
    if (output_rests) {
        const NamedCount counts[] = {
            {"models", models.seen},
            {"runs", all.runs.get()},
            {"calls", all.calls.get()},
            {"printed", printed},
            {"not_selected", all.filtered.get()},
            {"outside_of_scope", all.children.get()},
            {"returned_an_error", all.failed.get()},
            {"left_by_exception", all.exceptions.get()},
            {"nested_too_deep", all.deep.get()},
            {"not_seen", all.unsafe.get() + models.unbound},
            {"not_measured_for_want_of_room", measurer_->dropped()},
            {"findings", output_->findings().findings.load()},
            {"models_without_checks", count_unchecked_models()},
        };
        output_->close(counts);
    }

    // The text is like "1 model, 3 runs, 195 calls; 195 printed". Everything after that appears only if it is
    // not zero.
    CoverageLine line;
    line.count("", models.seen, "model", "models");
    line.count(", ", all.runs.get(), "run", "runs");
    line.count(", ", all.calls.get(), "call", "calls");
    line.rest(printed, "printed");
    line.rest(all.filtered.get(), "not selected");
    line.rest(all.children.get(), "outside the scope");
    line.rest(all.failed.get(), "returned an error");
    line.rest(all.exceptions.get(), "unwound by an exception");
    line.rest(all.deep.get(), "nested too deep");
    line.rest(all.unsafe.get() + models.unbound, "not intercepted (unknown arguments or no free stub)");
    if (measurer_ != nullptr) {
        line.rest(measurer_->dropped(), "not measured (queue full)");
        line.part(FindingSummary(output_->findings()).text());
        if (const std::uint64_t unchecked = count_unchecked_models(); unchecked != 0)
            line.count("; ", unchecked, "model with inputs that cannot be checked",
                       "models with inputs that cannot be checked");
    }
    if (Saving* saving = present_saving(); saving != nullptr) {
        add_saved(line, saving->counts());
    }
    if (log_ && log_->lost() != 0) line.count("; ", log_->lost(), "line lost", "lines lost");
    if (output_ != nullptr && output_->lost_events() != 0)
        line.count("; ", output_->lost_events(), "event lost", "events lost");
    if (log_ && log_->path() != nullptr) line.file("log", log_->path());
    if (ring_) line.file("ring", ring_->path());
    if (Saving* saving = present_saving(); saving != nullptr) line.file("tensors", saving->folder().c_str());
    if (output_ != nullptr && output_->events_path() != nullptr) line.file("events", output_->events_path());
    const std::string* dump = fault_dump_.load(std::memory_order_acquire);
    const bool has_faulted = dump != nullptr && access(dump->c_str(), F_OK) == 0;
    if (has_faulted) line.file("GPU core dump", dump->c_str());
    message(Severity::info, "%s", line.text());
    const bool is_without_dump = dump != nullptr && !has_faulted && has_fault_begun();
    // For a hang, the thread that requested the dump has printed this.
    if (is_without_dump && !has_asked_for_dump())
        message(Severity::warn,
                "a kernel faulted on the GPU, and the driver left no core dump. Set CUDA_LAUNCH_BLOCKING=1: "
                "the launch that fails is then the culprit.");
    if (has_faulted && !tallied_start() && !has_reporter())
        message(Severity::warn, "%s. Run `aoti-dbg report %s` to see which.",
                has_asked_for_dump() ? "the driver recorded which kernels ran during the hang"
                                     : "a kernel faulted on the GPU",
                folder_.c_str());
    const bool has_findings = output_ != nullptr && output_->findings().findings.load() != 0;
    return has_faulted || is_without_dump || has_findings || all.failed.get() != 0 ||
           all.exceptions.get() != 0;
}

}  // namespace aoti_dbg
