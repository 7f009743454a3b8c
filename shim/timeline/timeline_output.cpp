// See timeline_output.hpp.
#include "shim/timeline/timeline_output.hpp"

#include <unistd.h>

#include <utility>

#include "base/file_failure.hpp"
#include "base/message.hpp"
#include "base/readable_symbol.hpp"

namespace aoti_dbg {

Result<std::unique_ptr<TimelineOutput>> TimelineOutput::create(const std::string& folder,
                                                               std::string_view source) {
    // Several processes, or consecutive runs, may share a folder.
    std::string path = folder + "/timeline.jsonl";
    if (access(path.c_str(), F_OK) == 0) path = folder + "/timeline-" + std::to_string(getpid()) + ".jsonl";
    Result<PreallocatedFile> file = PreallocatedFile::create(path);
    if (!file.ok()) return file.status();
    std::unique_ptr<TimelineOutput> output(new TimelineOutput(MappedText(std::move(file.value()))));
    std::string line;
    append_timeline_header({static_cast<std::uint64_t>(getpid()), source, AOTI_DBG_VERSION}, line);
    if (Status written = output->text_.append(line.data(), line.size()); !written.ok()) return written;
    return output;
}

TimelineOutput::~TimelineOutput() {
    for (const std::atomic<CallTimes*>& one : threads_)
        delete one.load();
}

CallTimes* TimelineOutput::add_thread(std::uint32_t thread, std::uint64_t now) {
    const std::lock_guard lock(threads_mutex_);
    const std::size_t count = thread_count_.load(std::memory_order_relaxed);
    constexpr std::uint64_t kDeliveredAfter = 2'000'000'000;
    for (std::size_t i = 0; i < count; ++i) {
        CallTimes* const times = threads_[i].load(std::memory_order_relaxed);
        if (!times->is_retired_since(now - kDeliveredAfter)) continue;
        times->reuse(thread);
        return times;
    }
    if (count == kMostThreads) return nullptr;
    std::unique_ptr<CallTimes> times = CallTimes::create(thread);
    if (times == nullptr) return nullptr;
    threads_[count].store(times.get(), std::memory_order_relaxed);
    thread_count_.store(count + 1, std::memory_order_release);
    return times.release();
}

void TimelineOutput::take(const cupti::Api& api, std::uint8_t* buffer, std::size_t used,
                          std::size_t dropped) {
    const std::lock_guard lock(mutex_);
    if (is_closed_) return;
    lost_ += dropped;
    for (cupti::Record* record = nullptr; api.next_record(buffer, used, &record) == cupti::kSuccess;)
        take(*record);
    write(matcher_.take());
}

void TimelineOutput::note_time() {
    const TickClock::Moment now = TickClock::now();
    const std::lock_guard lock(mutex_);
    clock_.note(now);
}

void TimelineOutput::describe(const std::vector<TimelineDevice>& devices) {
    std::string lines;
    for (const TimelineDevice& device : devices)
        append_timeline_device(device, lines);
    const std::lock_guard lock(mutex_);
    append(lines, 0);
}

void TimelineOutput::add(const std::vector<DeviceSpan>& spans) {
    const std::lock_guard lock(mutex_);
    if (!is_closed_) write(spans);
}

void TimelineOutput::take(const cupti::Record& record) {
    using Kind = DeviceSpan::Kind;
    switch (record.kind) {
        case cupti::Kind::driver_api:
        case cupti::Kind::runtime_api:
            return take_call(reinterpret_cast<const cupti::ApiCall&>(record));
        case cupti::Kind::kernel: {
            const auto& kernel = reinterpret_cast<const cupti::Kernel&>(record);
            const char* const name = kernel.name;
            return take_span(kernel, {.kind = Kind::kernel, .kernel = readable_name(name)});
        }
        case cupti::Kind::copy: {
            const auto& copy = reinterpret_cast<const cupti::Copy&>(record);
            return take_span(copy, {.kind = Kind::copy, .bytes = copy.bytes});
        }
        case cupti::Kind::copy_between_devices: {
            const auto& copy = reinterpret_cast<const cupti::CopyBetweenDevices&>(record);
            return take_span(copy, {.kind = Kind::copy, .bytes = copy.bytes});
        }
        case cupti::Kind::set: {
            const auto& set = reinterpret_cast<const cupti::Set&>(record);
            return take_span(set, {.kind = Kind::set, .bytes = set.bytes});
        }
    }
}

template <typename Work>
void TimelineOutput::take_span(const Work& work, DeviceSpan span) {
    // The work had not ended when its record was delivered.
    if (work.end == 0) {
        ++lost_;
        return;
    }
    span.start_ns = work.start;
    span.end_ns = work.end;
    span.device = work.device;
    span.stream = work.stream;
    if (span.kernel.starts_with(kOwnKernels)) return write({std::move(span)});
    matcher_.add(work.correlation, std::move(span));
}

void TimelineOutput::take_call(const cupti::ApiCall& call) {
    std::uint64_t seq = 0;
    const std::uint64_t start = clock_.ticks_at(call.start);
    const std::uint64_t end = clock_.ticks_at(call.end);
    // A new thread may have the identifier of one that ended.
    for (std::size_t i = thread_count_.load(std::memory_order_acquire); i-- > 0 && seq == 0;) {
        const CallTimes* const times = threads_[i].load(std::memory_order_relaxed);
        if (times->thread() == call.thread) seq = times->find(start, end);
    }
    matcher_.submitted(call.correlation, seq);
}

const std::string& TimelineOutput::readable_name(const char* symbol) {
    constexpr std::size_t kMostNames = 65536;
    if (names_.size() >= kMostNames) names_.clear();
    std::string key = symbol == nullptr ? "" : symbol;
    const auto found = names_.find(key);
    if (found != names_.end()) return found->second;
    std::string readable = readable_symbol(key);
    return names_.emplace(std::move(key), std::move(readable)).first->second;
}

void TimelineOutput::write(const std::vector<DeviceSpan>& spans) {
    std::string lines;
    for (const DeviceSpan& span : spans)
        append_span(span, lines);
    append(lines, spans.size());
}

void TimelineOutput::append(const std::string& lines, std::uint64_t spans) {
    if (!is_full_) {
        const Status appended = text_.append(lines.data(), lines.size());
        if (appended.ok()) {
            spans_ += spans;
            return;
        }
        is_full_ = true;
        message(Severity::warn, "%s. The timeline ends here. %s", appended.message().c_str(),
                remedy_for(appended, "AOTI_DBG_OUT", PlaceKind::directory).c_str());
    }
    lost_ += spans;
}

void TimelineOutput::close() {
    const std::lock_guard lock(mutex_);
    if (is_closed_) return;
    write(matcher_.take_all());
    std::string line;
    append_timeline_coverage(counts(), line);
    append(line, 0);
    is_closed_ = true;
    if (const Status cut = text_.cut(); !cut.ok())
        message(Severity::warn, "%s. The file ends in blank lines.", cut.message().c_str());
}

}  // namespace aoti_dbg
