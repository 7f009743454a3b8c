#include "cli/top/kernel_times.hpp"

#include <algorithm>

#include "cli/recorded_file.hpp"
#include "cli/trace/argument_text.hpp"
#include "serializer/event_words.hpp"
#include "serializer/flight_ring_reader.hpp"
#include "serializer/ring_clock.hpp"

namespace aoti_dbg::cli {
namespace {

// A recording has fewer kernels. This bounds the memory for a damaged file.
constexpr std::size_t kMostKernels = std::size_t{1} << 16U;
constexpr std::size_t kMostOpenCalls = 4096;
constexpr double kSecondsPerNs = 1e-9;
// After that much, more of the file may be there.
constexpr std::size_t kManyBytes = std::size_t{1} << 20U;

/// True for a call that a model makes. Kernels inside it, runs and waits are part of others.
bool is_call_of_model(const ring::Record& record) {
    return record.call != ring::kNoCall && record.kind != ring::CallKind::run &&
           record.kind != ring::CallKind::lifecycle && record.kind != ring::CallKind::wait;
}

}  // namespace

KernelTimer::Sum& KernelTimer::sum_of(Sums& sums, std::string_view name) {
    if (const auto known = sums.find(name); known != sums.end()) return known->second;
    return sums[sums.size() < kMostKernels ? std::string(name) : std::string("(others)")];
}

void KernelTimer::add_timeline(const std::string& path, bool is_final) {
    std::unique_ptr<Timeline>& timeline = timelines_[path];
    if (timeline == nullptr) timeline = std::make_unique<Timeline>(path);
    GrowingLines& lines = timeline->lines;
    if (!lines.is_open()) return;
    has_timeline_ = true;
    std::size_t read = 0;
    do {
        read = 0;
        lines.poll(is_final);
        const auto source = [&](char* to, std::size_t bytes) {
            const std::size_t count = lines.read(to, bytes);
            read += count;
            return count;
        };
        TimelineReader reader(source, std::move(timeline->devices));
        for (ReadSpan span; reader.next(span);) {
            const TimelineDevice* const device = reader.device(span.device);
            if (device != nullptr && timeline->used.insert(span.device).second)
                devices_.insert({device->name, peak_bytes_per_second(*device)});
            add_span(span, device);
        }
        timeline->devices = reader.devices();
    } while (read >= kManyBytes);
}

void KernelTimer::add_span(const ReadSpan& span, const TimelineDevice* device) {
    if (span.kernel.starts_with(kOwnKernels)) return;
    const bool is_kernel = span.kind == "kernel" || span.kind.empty();
    const std::string name = is_kernel ? std::string(span.kernel) : "(" + std::string(span.kind) + ")";
    Sum& sum = sum_of(device_, name);
    const std::uint64_t took = span.end_ns - span.start_ns;
    ++sum.count;
    sum.time_ns += took;
    const double peak = device == nullptr ? 0 : peak_bytes_per_second(*device);
    // The bus to the host limits many copies, and others read and write each byte.
    sum.has_peak = sum.has_peak && peak != 0 && span.kind != "copy";
    sum.peak_bytes += peak * static_cast<double>(took) * kSecondsPerNs;
    if (is_kernel) return;
    copied_ns_ += took;
    sum.bytes += span.bytes;
    ++sum.sized;
}

void KernelTimer::add_ring(const std::string& path) {
    const Result<ring::Contents> contents = ring::read_flight_ring(path);
    if (!contents.ok()) return;
    const RingClock clock(contents.value().header);
    for (const ring::Thread& thread : contents.value().threads) {
        // Calls of one thread end in their order, apart from those inside them.
        std::uint64_t& last = last_numbers_[{path, thread.tid}];
        std::uint64_t newest = last;
        for (const ring::Record& record : thread.records) {
            if (record.seq <= last || !is_call_of_model(record) || ring::is_open(record)) continue;
            newest = std::max(newest, record.seq);
            const std::uint64_t begin = clock.unix_ns(record.begin_ticks);
            const std::uint64_t end = clock.unix_ns(record.end_ticks);
            Sum& sum = sum_of(host_, contents.value().name(record.name));
            ++sum.count;
            if (begin != 0) sum.time_ns += end - std::min(end, begin);
        }
        last = newest;
        overwritten_ += thread.overwritten();
    }
}

void KernelTimer::add_call(const MeasuredCall& call) {
    if (call.side == EventSide::before) {
        if (begun_.size() >= kMostOpenCalls) begun_.clear();
        begun_[call.sequence] = call.time_ns;
        return;
    }
    if (call.side != EventSide::after || call.nesting != 0) return;
    Sum& sum = sum_of(host_, site_or_unknown(call).kernel);
    ++sum.count;
    if (const auto begun = begun_.find(call.sequence); begun != begun_.end()) {
        sum.time_ns += call.time_ns - std::min(call.time_ns, begun->second);
        begun_.erase(begun);
        has_both_sides_ = true;
    }
    add_bytes(sum, call);
}

void KernelTimer::add_bytes(Sum& sum, const MeasuredCall& call) {
    std::uint64_t bytes = 0;
    for (const MeasuredArgument& argument : call.arguments)
        if (argument.tensor != nullptr) bytes += bytes_of(*argument.tensor);
    sum.bytes += bytes;
    sum.sized += bytes != 0 ? 1 : 0;
}

void KernelTimer::add_events(const std::string& path) {
    RecordedFile file(path.c_str());
    EventReader reader([&](char* to, std::size_t bytes) { return file.read(to, bytes); },
                       ArgumentDetail::facts, ReadingThread::own);
    ReadEvent event;
    begun_.clear();
    has_both_sides_ = false;
    while (reader.next(event))
        if (event.kind == ReadEvent::Kind::call) add_call(event.call);
    warn_of_gaps(path.c_str(), reader.notes());
}

/// Reads some of a large file, because the user waits for the table. The last time reads the rest.
void KernelTimer::add_new_bytes(const std::string& path, bool is_final) {
    constexpr int kMostPolls = 2;
    std::unique_ptr<GrowingEvents>& events = growing_events_[path];
    if (events == nullptr) events = std::make_unique<GrowingEvents>(path, ArgumentDetail::facts);
    if (!events->is_open()) return;
    for (int polls = 0; polls == 0 || ((is_final || polls < kMostPolls) && events->may_have_more());
         ++polls) {
        events->poll(is_final);
        for (ReadEvent event; events->next(event);) {
            const MeasuredCall& call = event.call;
            if (event.kind == ReadEvent::Kind::call && call.side == EventSide::after && call.nesting == 0)
                add_bytes(sum_of(host_, site_or_unknown(call).kernel), call);
        }
    }
}

void KernelTimer::add(const std::vector<ProcessFiles>& processes, bool is_final) {
    processes_ = processes.size();
    for (const ProcessFiles& process : processes) {
        if (!process.timeline.empty()) add_timeline(process.timeline, is_final);
        if (is_live_ && !process.events.empty()) add_new_bytes(process.events, is_final);
        const bool reads_events = !is_live_ && !process.events.empty();
        const Sums others = reads_events ? host_ : Sums();
        if (reads_events) add_events(process.events);
        if (process.ring.empty() || (reads_events && (has_both_sides_ || has_timeline_))) continue;
        // Events of one side have no durations.
        if (reads_events) host_ = others;
        add_ring(process.ring);
    }
}

KernelTimes KernelTimer::times() const {
    KernelTimes times;
    times.is_device_time = has_timeline_;
    times.processes = processes_;
    times.copied_ns = copied_ns_;
    if (!has_timeline_ && !is_live_) times.overwritten = overwritten_;
    if (has_timeline_) times.devices = devices_;
    for (const auto& [name, sum] : has_timeline_ ? device_ : host_) {
        // The ring overwrote its calls before it was read. The events have only their bytes.
        if (sum.count == 0) continue;
        KernelTime kernel{name, sum.count, sum.time_ns, sum.sized == 0 ? 0 : sum.bytes / sum.sized};
        // The tensors of a kernel are those of the call that launched it, under the same name.
        if (const auto call = host_.find(name); has_timeline_ && kernel.bytes == 0 && call != host_.end())
            kernel.bytes = call->second.sized == 0 ? 0 : call->second.bytes / call->second.sized;
        if (has_timeline_ && sum.has_peak && sum.time_ns != 0)
            kernel.peak_bytes_per_second =
                sum.peak_bytes / (static_cast<double>(sum.time_ns) * kSecondsPerNs);
        times.total_ns += sum.time_ns;
        times.kernels.push_back(std::move(kernel));
    }
    std::ranges::stable_sort(times.kernels, std::greater<>(), &KernelTime::time_ns);
    return times;
}

}  // namespace aoti_dbg::cli
