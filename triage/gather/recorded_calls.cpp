#include "triage/gather/recorded_calls.hpp"

#include <algorithm>
#include <iterator>

#include "base/words.hpp"
#include "serializer/cuda_error.hpp"
#include "serializer/ended_launches.hpp"

namespace aoti_dbg {
namespace {

constexpr std::size_t kCallsBefore = 8;

bool is_open_call(const ring::Record& record) {
    return is_open(record) && record.kind != ring::CallKind::wait;
}

constexpr std::uint64_t kNotComparable = std::uint64_t{1} << 62U;

/// Returns the distance from the faulting launch's number, 0 for that launch. After a graph launch, the
/// library's numbers may be too small.
std::uint64_t distance(const ring::Call& call, const DeviceFault& fault) {
    const std::uint64_t number = call.record->launch;
    const std::uint64_t at_fault = fault.launch != 0 ? fault.launch : fault.later_launch;
    if (number == 0 || at_fault == 0) return kNotComparable;
    if (number > at_fault) return kNotComparable + number - at_fault;
    return at_fault - number;
}

}  // namespace

RecordedCalls::RecordedCalls(const ring::Contents& contents)
    : contents_(contents), all_(ring::merged_calls(contents)) {}

bool RecordedCalls::is_call(const ring::Record& record) {
    return record.kind != ring::CallKind::run && record.kind != ring::CallKind::lifecycle &&
           record.kind != ring::CallKind::wait;
}

std::vector<ring::Call> RecordedCalls::in_flight(bool main_thread_only) const {
    std::vector<ring::Call> innermost;
    for (const ring::Thread& thread : contents_.threads) {
        if (thread.ended || (main_thread_only && thread.tid != contents_.header.pid)) continue;
        const auto open = std::find_if(thread.records.rbegin(), thread.records.rend(), is_open_call);
        if (open != thread.records.rend()) innermost.push_back({&thread, &*open});
    }
    std::stable_partition(innermost.begin(), innermost.end(),
                          [](const ring::Call& call) { return is_call(*call.record); });
    return innermost;
}

std::optional<ring::Call> RecordedCalls::failed() const {
    std::optional<ring::Call> last;
    for (const ring::Call& call : all_) {
        if (returns_cuda_error(call.record->kind) && ends_context(call.record->result)) return call;
        if (has_failed(*call.record)) last = call;
    }
    if (!last || last->record->run == ring::kNoRun) return last;
    for (const ring::Call& call : all_) {
        const bool is_of_run = call.record->run == last->record->run;
        if (is_of_run && is_call(*call.record) && has_failed(*call.record)) return call;
    }
    return last;
}

bool RecordedCalls::was_alone(const ring::Call& failed) const {
    return std::none_of(all_.begin(), all_.end(), [&](const ring::Call& other) {
        const ring::Record& record = *other.record;
        return other.thread != failed.thread && is_launch(record.kind) &&
               record.begin_ticks <= failed.record->end_ticks &&
               (is_open(record) || record.end_ticks >= failed.record->begin_ticks);
    });
}

CrashCall RecordedCalls::launch_details(const ring::Call& launch) const {
    CrashCall call = details(launch);
    if (const std::optional<ring::Call> op = around(launch)) set_around(details(*op), call);
    return call;
}

std::optional<ring::Call> RecordedCalls::last(std::uint32_t thread) const {
    const auto found = std::find_if(all_.rbegin(), all_.rend(), [thread](const ring::Call& call) {
        return is_call(*call.record) && (thread == 0 || call.thread->tid == thread);
    });
    return found == all_.rend() ? std::nullopt : std::optional(*found);
}

template <typename Matches>
std::vector<CrashCall> RecordedCalls::latest(Matches matches) const {
    std::vector<CrashCall> calls;
    for (auto call = all_.rbegin(); call != all_.rend() && calls.size() < kCallsBefore; ++call)
        if (is_call(*call->record) && !is_open(*call->record) && matches(*call))
            calls.push_back(details(*call));
    return calls;
}

std::vector<CrashCall> RecordedCalls::before(const std::optional<ring::Call>& to) const {
    return latest([&to](const ring::Call& call) {
        return !to || (call.thread == to->thread && call.record->seq < to->record->seq);
    });
}

std::vector<CrashCall> RecordedCalls::before_on_stream(const ring::Call& launch) const {
    return latest([&launch](const ring::Call& call) {
        const bool is_around =
            launch.record->back != 0 && call.record->seq == launch.record->seq - launch.record->back;
        return call.record->seq < launch.record->seq && !is_around &&
               may_be_one_stream(recorded_stream(call), recorded_stream(launch));
    });
}

std::vector<CrashCall> RecordedCalls::before_elsewhere(const ring::Call& launch) const {
    return latest([&launch](const ring::Call& call) {
        const bool has_stream = is_launch(call.record->kind) || call.record->stream != 0;
        return has_stream && call.record->seq < launch.record->seq &&
               !may_be_one_stream(recorded_stream(call), recorded_stream(launch));
    });
}

std::string RecordedCalls::run_name_of(const ring::Call& call) const {
    const auto found = std::find_if(all_.begin(), all_.end(), [&call](const ring::Call& other) {
        return other.record->kind == ring::CallKind::run && other.record->run == call.record->run;
    });
    return found == all_.end() ? std::string() : std::string(contents_.name(found->record->name));
}

std::vector<std::string> RecordedCalls::names_up_to(const ring::Call& to) const {
    std::vector<std::string> names;
    for (const ring::Record& record : to.thread->records) {
        const bool is_own = record.run == to.record->run && record.call != ring::kNoCall;
        if (!is_own || !is_call(record) || record.seq > to.record->seq) continue;
        if (record.call != names.size()) return {};
        names.emplace_back(contents_.name(record.name));
    }
    if (to.record->call == ring::kNoCall || names.size() != to.record->call + 1U) return {};
    return names;
}

bool RecordedCalls::may_be_there(const ring::Call& launch, const DeviceFault& fault) const {
    const ring::DeviceContext* const context = contents_.context_of(*launch.record);
    if (context == nullptr) return true;
    const auto& known = contents_.header.contexts;
    const auto is_it = [&fault](const auto& one) { return one.handle != 0 && one.handle == fault.context; };
    if (std::any_of(std::begin(known), std::end(known), is_it)) return is_it(*context);
    return fault.device.empty() || device_name(context->device) == fault.device;
}

std::optional<ring::Call> RecordedCalls::launch_of(const DeviceFault& fault, bool& is_certain) const {
    const auto is_nearer = [&fault](const ring::Call& a, const ring::Call& b) {
        return distance(a, fault) < distance(b, fault);
    };
    std::vector<ring::Call> launches;
    for (auto call = all_.rbegin(); call != all_.rend(); ++call)
        if (is_call(*call->record) && is_name_of(contents_.name(call->record->name), fault.kernel))
            launches.push_back(*call);
    const bool is_only = launches.size() == 1;
    // Each context numbers its own launches.
    const auto others = std::stable_partition(
        launches.begin(), launches.end(), [&](const ring::Call& call) { return may_be_there(call, fault); });
    if (launches.empty()) return std::nullopt;
    const bool is_any_there = others != launches.begin();
    if (is_any_there) launches.erase(others, launches.end());
    // Of equals the last one counts: without launch numbers, the program cannot have continued for long.
    const ring::Call found = *std::min_element(launches.begin(), launches.end(), is_nearer);
    const bool is_that_one = fault.launch != 0 && distance(found, fault) == 0;
    is_certain = is_any_there && (is_only || is_that_one);
    return found;
}

std::optional<ring::Call> RecordedCalls::of_sequence(std::uint64_t sequence) const {
    constexpr int kDeepest = 64;  // no program nests calls deeper
    for (int depth = 0; depth <= kDeepest; ++depth) {
        const auto found = std::find_if(all_.begin(), all_.end(), [sequence](const ring::Call& call) {
            return call.record->seq == sequence;
        });
        if (found == all_.end()) return std::nullopt;
        if (is_call(*found->record) || found->record->back == 0) return *found;
        sequence -= found->record->back;
    }
    return std::nullopt;
}

std::optional<ring::Call> RecordedCalls::around(const ring::Call& call) const {
    if (call.record->back == 0) return std::nullopt;
    const std::uint64_t sequence = call.record->seq - call.record->back;
    const auto found = std::find_if(all_.begin(), all_.end(), [sequence](const ring::Call& other) {
        return other.record->seq == sequence && is_call(*other.record);
    });
    return found == all_.end() ? std::nullopt : std::optional(*found);
}

bool RecordedCalls::may_be_replayed(const ring::Call& launch) const {
    return std::any_of(all_.begin(), all_.end(), [&](const ring::Call& call) {
        return call.record->kind == ring::CallKind::graph && call.record->seq > launch.record->seq;
    });
}

bool RecordedCalls::any_run_after(const ring::Call& failed, bool own_thread_only) const {
    return std::any_of(all_.begin(), all_.end(), [&](const ring::Call& call) {
        if (own_thread_only && call.thread != failed.thread) return false;
        return call.record->kind == ring::CallKind::run && call.record->seq > failed.record->seq &&
               !is_open(*call.record) && !has_failed(*call.record);
    });
}

}  // namespace aoti_dbg
