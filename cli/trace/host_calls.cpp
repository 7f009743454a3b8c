#include "cli/trace/host_calls.hpp"

#include <algorithm>
#include <utility>

#include "base/clean_text.hpp"
#include "base/compiled_function.hpp"
#include "base/words.hpp"
#include "serializer/event_words.hpp"
#include "serializer/number_text.hpp"
#include "serializer/ring_clock.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr std::uint32_t kUnknown = ~0U;
constexpr std::size_t kLongestName = 200;
constexpr std::uint64_t kUndescribed = ~std::uint64_t{0};

void annotate_unless_empty(TracePackets& packets, std::string_view key, const std::string& text) {
    if (!text.empty()) packets.annotate_shared(key, text);
}

}  // namespace

HostCalls::HostCalls(TracePackets& packets, const HostProcess& process)
    : packets_(packets), process_(process), keys_(packets), models_(process.ring) {}

HostThread& HostCalls::add_thread(std::uint32_t tid) {
    std::vector<TimedRecord> records;
    if (process_.ring != nullptr) {
        const RingClock clock(process_.ring->header);
        for (const ring::Thread& thread : process_.ring->threads) {
            if (thread.tid != tid) continue;
            for (const ring::Record& record : thread.records)
                records.push_back({&record, clock.unix_ns(record.begin_ticks),
                                   record.end_ticks == 0 ? 0 : clock.unix_ns(record.end_ticks),
                                   thread.line_of(record)});
        }
        std::ranges::sort(records, {}, [](const TimedRecord& one) { return one.record->seq; });
        std::erase_if(records, [](const TimedRecord& one) { return one.begin_ns == 0; });
    }
    const std::uint64_t track = trace_id(process_.index, kThread, tid);
    packets_.add_thread(track, trace_id(process_.index, kProcess, 0), process_.pid, tid,
                        tid == process_.pid ? "main thread" : "thread");
    return *(threads_[tid] = std::make_unique<HostThread>(packets_, track, std::move(records)));
}

HostThread& HostCalls::thread_of(std::uint64_t thread) {
    const auto tid = static_cast<std::uint32_t>(thread);
    if (last_thread_ != nullptr && tid == last_tid_) return *last_thread_;
    const auto known = threads_.find(tid);
    last_tid_ = tid;
    last_thread_ = known != threads_.end() ? known->second.get() : &add_thread(tid);
    return *last_thread_;
}

// ---- starts

/// A run has a slice with the name of its model, and in it one with its number.
void HostCalls::begin_run(HostThread& thread, const OpenSlice& slice, std::uint32_t model,
                          std::uint64_t time_ns, const ReadEvent* event) {
    const std::uint64_t time = thread.advance(time_ns);
    packets_.begin_event(Type::begin, thread.track(), time);
    packets_.name(models_.of(model));
    packets_.category("model");
    packets_.end_event();
    packets_.begin_event(Type::begin, thread.track(), time);
    packets_.name("run " + std::to_string(slice.run));
    packets_.category("run");
    if (slice.sequence != 0) packets_.annotate("seq", slice.sequence);
    if (const TimedRecord* const record = thread.record_of(slice.sequence); record != nullptr) {
        const CompiledRun compiled = compiled_run_of(process_.ring->name(record->record->name));
        annotate_unless_empty(packets_, "caller", std::string(compiled.caller));
    }
    if (event != nullptr && !event->call.name_only) write_arguments("inputs", *event);
    packets_.end_event();
    thread.push(slice);
}

/// Enters the run of a call if it is not open, because the recording lacks its start.
void HostCalls::enter_run_of(HostThread& thread, std::uint32_t run, std::uint32_t model, std::uint32_t depth,
                             std::uint64_t time_ns) {
    if (run == ring::kNoRun) return;
    const auto& open = thread.open();
    const auto innermost =
        std::find_if(open.rbegin(), open.rend(), [](const OpenSlice& one) { return one.is_run; });
    if (innermost != open.rend() && innermost->run == run) return;
    thread.close_to(depth == 0 ? 0 : depth - 1, time_ns);
    OpenSlice slice;
    slice.run = run;
    slice.depth = depth == 0 ? 0 : depth - 1;
    slice.is_run = true;
    begin_run(thread, slice, model, time_ns, nullptr);
}

void HostCalls::write_site(const MeasuredCall& call) {
    const SiteFacts& site = site_or_unknown(call);
    SiteBytes* known = sites_.find(site.number);
    if (known == nullptr) {
        sites_.make_room();
        known = &sites_.add(site.number);
    }
    if (known->generation == packets_.generation() && known->model == call.model) {
        packets_.append(known->bytes);
        return;
    }
    const std::size_t start = packets_.size();
    std::string name;
    append_shortened(site.kernel, kLongestName, name);
    packets_.name(name);
    packets_.category(site.kind.empty() ? "call" : site.kind);
    annotate_unless_empty(packets_, "symbol", site.symbol);
    if (site.line != 0) packets_.annotate("line", site.line);
    annotate_unless_empty(packets_, "source", site.source);
    SiteFacts completed = site;
    if (process_.origins != nullptr) process_.origins->complete(call.model, completed);
    write_origin(completed);
    known->bytes = packets_.copy_from(start);
    known->generation = packets_.generation();
    known->model = call.model;
}

void HostCalls::write_origin(const SiteFacts& site) {
    annotate_unless_empty(packets_, "source nodes", joined(site.source_nodes, ", "));
    annotate_unless_empty(packets_, "original ATen", joined(site.original_aten, ", "));
    annotate_unless_empty(packets_, "Python", joined(site.python_stack, " | "));
}

/// Starts the event of a call, which stays open for its arguments.
void HostCalls::write_start(HostThread& thread, const MeasuredCall& call) {
    packets_.begin_event(Type::begin, thread.track(), thread.advance(call.time_ns));
    write_site(call);
    if (process_.has_device_spans) packets_.flow(trace_id(process_.index, kFlow, call.sequence));
    packets_.annotate("seq", call.sequence);
    if (call.run != kUnknown) packets_.annotate("run", call.run);
    if (call.call != kNoCallNumber) packets_.annotate("call", call.call);
    if (call.stream != 0) packets_.annotate_shared("stream", hex_text(call.stream));
}

void HostCalls::begin_call(HostThread& thread, const ReadEvent& event) {
    const MeasuredCall& call = event.call;
    const TimedRecord* const record = thread.record_of(call.sequence);
    OpenSlice slice;
    slice.sequence = call.sequence;
    slice.run = call.run;
    slice.has_side = true;
    if (record != nullptr) {
        slice.end_ns = record->end_ns;
        slice.is_open = ring::is_open(*record->record);
        slice.depth = record->record->depth;
    } else {
        slice.depth = call.nesting + (call.run == kUnknown ? 0 : 1);
    }
    thread.close_to(slice.depth, call.time_ns);
    enter_run_of(thread, call.run, call.model, slice.depth, call.time_ns);
    write_start(thread, call);
    if (!call.name_only) write_arguments("before", event);
    packets_.end_event();
    thread.push(slice);
}

void HostCalls::enter_record(HostThread& thread, const TimedRecord& timed) {
    const ring::Record& record = *timed.record;
    OpenSlice slice;
    slice.sequence = record.seq;
    slice.end_ns = timed.end_ns;
    slice.run = record.run;
    slice.depth = record.depth;
    slice.is_run = record.kind == ring::CallKind::run;
    slice.is_open = ring::is_open(record);
    thread.close_to(slice.depth, timed.begin_ns);
    const bool is_call = record.kind != ring::CallKind::lifecycle && record.kind != ring::CallKind::wait;
    calls_ += is_call && !slice.is_run ? 1 : 0;
    if (slice.is_run) return begin_run(thread, slice, record.model, timed.begin_ns, nullptr);
    if (record.call != ring::kNoCall)
        enter_run_of(thread, record.run, record.model, slice.depth, timed.begin_ns);
    packets_.begin_event(Type::begin, thread.track(), thread.advance(timed.begin_ns));
    std::string name;
    append_shortened(process_.ring->name(record.name), kLongestName, name);
    packets_.name(name);
    packets_.category(category_of(record.kind));
    if (process_.has_device_spans) packets_.flow(trace_id(process_.index, kFlow, record.seq));
    packets_.annotate("seq", record.seq);
    if (record.run != ring::kNoRun) packets_.annotate("run", record.run);
    if (record.call != ring::kNoCall) packets_.annotate("call", record.call);
    if (record.stream != 0) packets_.annotate_shared("stream", hex_text(record.stream));
    if (record.result != 0) packets_.annotate_shared("result", std::to_string(record.result));
    if (timed.line != 0) packets_.annotate("line", timed.line);
    if (process_.origins != nullptr && record.call != ring::kNoCall) {
        SiteFacts site;
        site.kernel = process_.ring->name(record.name);
        site.line = timed.line;
        process_.origins->complete(record.model, site);
        write_origin(site);
    }
    packets_.end_event();
    thread.push(slice);
}

// ---- arguments

void HostCalls::write_arguments(std::string_view group, const ReadEvent& event) {
    const bool is_after = event.call.side == EventSide::after || event.call.side == EventSide::outputs;
    bool has_group = false;
    keys_.begin_group();
    for (std::size_t i = 0; i < event.call.arguments.size(); ++i) {
        const MeasuredArgument& argument = event.call.arguments[i];
        const JsonLine::Value object = event.objects[i];
        if (is_after && argument.tensor == nullptr) continue;
        const TextId key = keys_.key_of(*argument.facts);
        // What a call only reads is the same afterwards.
        if (is_after && argument.facts->role == Role::reads) continue;
        if (!has_group) packets_.begin_group(group);
        has_group = true;
        std::string& text = packets_.begin_text(key);
        if (!argument.facts->original_fqn.empty()) {
            append_clean(argument.facts->original_fqn, text);
            text += ": ";
        }
        ArgumentNumbers numbers;
        texts_.append(argument, object, numbers, text);
        packets_.end_text();
        if (!is_after || argument.tensor == nullptr) continue;
        nan_ += numbers.is_measured_here ? numbers.nan : 0;
        written_ += bytes_of(*argument.tensor);
    }
    if (has_group) packets_.end_group();
}

void HostCalls::write_counters(std::uint64_t time_ns) {
    const auto write = [&](TraceIdKind kind, std::uint64_t value, std::uint64_t& shown, const char* name,
                           TracePackets::Unit unit) {
        if (value == shown) return;
        const std::uint64_t track = trace_id(process_.index, kind, 0);
        if (shown == kUndescribed)
            packets_.add_counter(track, trace_id(process_.index, kProcess, 0), name, unit);
        shown = value;
        packets_.begin_event(Type::counter, track, time_ns);
        packets_.counter(value);
        packets_.end_event();
    };
    write(kNanCounter, nan_, shown_nan_, "NaN elements written", TracePackets::Unit::count);
    write(kBytesCounter, written_, shown_written_, "bytes written", TracePackets::Unit::bytes);
}

// ---- ends

void HostCalls::end_call(HostThread& thread, const ReadEvent& event) {
    const MeasuredCall& call = event.call;
    has_ends_ = true;
    std::size_t index = thread.find(call.sequence);
    if (index == thread.open().size()) {
        // The recording lacks its start. The ring may have it.
        ++calls_;
        const TimedRecord* const record = thread.record_of(call.sequence);
        OpenSlice slice;
        slice.sequence = call.sequence;
        slice.run = call.run;
        slice.depth =
            record != nullptr ? record->record->depth : call.nesting + (call.run == kUnknown ? 0 : 1);
        MeasuredCall start = call;
        start.time_ns = record != nullptr ? record->begin_ns : call.time_ns;
        thread.close_to(slice.depth, start.time_ns);
        enter_run_of(thread, call.run, call.model, slice.depth, start.time_ns);
        write_start(thread, start);
        packets_.end_event();
        thread.push(slice);
        index = thread.open().size() - 1;
    }
    thread.enter_records_inside(call.sequence, thread.open()[index].depth, call.time_ns,
                                [&](const TimedRecord& record) { enter_record(thread, record); });
    thread.close_above(index, call.time_ns);
    nan_ = 0;
    const std::uint64_t time = thread.advance(call.time_ns);
    packets_.begin_event(Type::end, thread.track(), time);
    if (call.result != 0) packets_.annotate_shared("result", std::to_string(call.result));
    if (!call.name_only) write_arguments("after", event);
    packets_.end_event();
    thread.pop();
    write_counters(time);
}

void HostCalls::end_run(HostThread& thread, const ReadEvent& event) {
    const MeasuredCall& call = event.call;
    has_ends_ = true;
    enter_run_of(thread, call.run, call.model, 1, call.time_ns);
    std::size_t index = thread.find_run(call.run);
    if (index == thread.open().size()) return;
    thread.enter_records_inside(call.sequence, thread.open()[index].depth, call.time_ns,
                                [&](const TimedRecord& record) { enter_record(thread, record); });
    thread.close_above(index, call.time_ns);
    const std::uint64_t time = thread.advance(call.time_ns);
    packets_.begin_event(Type::end, thread.track(), time);
    if (!call.name_only) write_arguments("outputs", event);
    packets_.end_event();
    packets_.begin_event(Type::end, thread.track(), time);
    packets_.end_event();
    thread.pop();
}

void HostCalls::add_call(const ReadEvent& event) {
    const MeasuredCall& call = event.call;
    HostThread& thread = thread_of(call.thread);
    const auto enter = [&](const TimedRecord& record) { enter_record(thread, record); };
    switch (call.side) {
        case EventSide::before:
            ++calls_;
            thread.enter_records_before(call.sequence, enter);
            return begin_call(thread, event);
        case EventSide::after:
            thread.enter_records_before(call.sequence, enter);
            return end_call(thread, event);
        case EventSide::inputs: {
            thread.enter_records_before(call.sequence, enter);
            const TimedRecord* const record = thread.record_of(call.sequence);
            OpenSlice slice;
            slice.sequence = call.sequence;
            slice.run = call.run;
            slice.is_run = true;
            slice.has_side = true;
            slice.depth = record != nullptr ? record->record->depth : 0;
            slice.end_ns = record != nullptr ? record->end_ns : 0;
            slice.is_open = record != nullptr && ring::is_open(*record->record);
            thread.close_to(slice.depth, call.time_ns);
            return begin_run(thread, slice, call.model, call.time_ns, &event);
        }
        case EventSide::outputs:
            return end_run(thread, event);
    }
}

void HostCalls::add_finding(Finding finding) {
    if (process_.origins != nullptr) process_.origins->complete(finding);
    const std::uint64_t track = trace_id(process_.index, kFindings, 0);
    if (!std::exchange(has_findings_track_, true))
        packets_.add_track(track, trace_id(process_.index, kProcess, 0), "findings");
    const bool is_compiled = is_compiled_function(finding.model_name);
    std::string sentence = finding_sentence(finding);
    if (constexpr std::string_view kOwn = "aoti-dbg "; sentence.starts_with(kOwn))
        sentence.erase(0, kOwn.size());
    packets_.begin_event(Type::instant, track, finding.time_ns);
    packets_.name(sentence);
    packets_.category("finding");
    annotate_unless_empty(packets_, "kernel", finding.kernel);
    if (finding.line != 0) packets_.annotate("line", finding.line);
    annotate_unless_empty(packets_, "source nodes", joined(finding.source_nodes, ", "));
    annotate_unless_empty(packets_, "original ATen", joined(finding.original_aten, ", "));
    annotate_unless_empty(
        packets_, "Python",
        joined(finding.python_lines.empty() && !is_compiled ? finding.python_stack : finding.python_lines,
               " | "));
    if (is_compiled) annotate_unless_empty(packets_, "caller", joined(finding.python_stack, " | "));
    packets_.annotate("seq", finding.sequence);
    annotate_unless_empty(packets_, "tensor", finding.tensor.label);
    annotate_unless_empty(packets_, "expected", finding.expected);
    annotate_unless_empty(packets_, "found", finding.found);
    annotate_unless_empty(packets_, "advice", finding.advice);
    annotate_unless_empty(packets_, "notes", joined(finding.notes, ". "));
    annotate_unless_empty(packets_, "suppress", finding.suppression);
    packets_.end_event();
}

void HostCalls::finish() {
    if (process_.ring != nullptr) {
        for (const ring::Thread& thread : process_.ring->threads)
            if (!thread.records.empty()) thread_of(thread.tid);
    }
    for (const auto& [tid, thread] : threads_) {
        thread->enter_all_records(
            [&, one = thread.get()](const TimedRecord& record) { enter_record(*one, record); });
        thread->finish(has_ends_);
    }
}

}  // namespace aoti_dbg::cli
