#include "serializer/hang.hpp"

#include <algorithm>
#include <utility>

#include "base/clean_text.hpp"
#include "serializer/ended_launches.hpp"
#include "serializer/number_text.hpp"
#include "serializer/ring_path.hpp"

namespace aoti_dbg {
namespace {

using ring::CallKind;
using ring::Record;
using ring::Thread;

/// Returns the enclosing call, or null if the ring has overwritten it.
const Record* parent_of(const Thread& thread, const Record& record) {
    if (record.back == 0) return nullptr;
    const auto found = std::find_if(thread.records.rbegin(), thread.records.rend(), [&](const Record& other) {
        return other.seq == record.seq - record.back;
    });
    return found == thread.records.rend() ? nullptr : &*found;
}

CrashCall call_of(const ring::Contents& contents, const Thread& thread, const Record& record) {
    CrashCall call = recorded_call(contents, {&thread, &record});
    const Record* const parent = parent_of(thread, record);
    if (parent != nullptr && parent->kind != CallKind::run && parent->kind != CallKind::lifecycle) {
        CrashCall around;
        around.name = contents.name(parent->name);
        around.run = parent->run;
        around.call = parent->call;
        set_around(around, call);
    }
    return call;
}

/// Returns how long before `unix_ns` that tick was.
std::uint64_t age_of(const ring::FileHeader& header, std::uint64_t tick, std::uint64_t unix_ns) {
    if (header.anchor_ticks <= header.start_ticks || header.anchor_unix_ns <= header.start_unix_ns) return 0;
    const double length = static_cast<double>(header.anchor_unix_ns - header.start_unix_ns) /
                          static_cast<double>(header.anchor_ticks - header.start_ticks);
    const double since_start = (static_cast<double>(tick) - static_cast<double>(header.start_ticks)) * length;
    const double age = static_cast<double>(unix_ns) - static_cast<double>(header.start_unix_ns) - since_start;
    constexpr double kMost = 1e18;
    return age > 0 && age < kMost ? static_cast<std::uint64_t>(age) : 0;
}

/// True if a call of this kind may wait for the device.
bool may_wait(const StuckCall& stuck) {
    const CallKind kind = stuck.call.kind;
    return stuck.asks || kind == CallKind::wait || kind == CallKind::lifecycle || is_launch(kind);
}

bool is_of_all_streams(const StuckCall& stuck) {
    return stuck.call.kind == CallKind::lifecycle || stuck.call.name == "cuCtxSynchronize" ||
           stuck.call.name == "cuMemFree";
}

/// Returns when the thread last began a call or returned from one.
std::uint64_t last_step(const ring::Contents& contents, std::uint64_t tid) {
    std::uint64_t tick = 0;
    for (const Thread& thread : contents.threads)
        for (const Record& record : thread.records)
            if (thread.tid == tid) tick = std::max({tick, record.begin_ticks, record.end_ticks});
    return tick;
}

/// True if markers show that the first of `launches` itself has not ended, rather than a later one.
bool is_known_by_markers(const ring::Contents& contents, const StuckCall& stuck,
                         const std::vector<ring::Call>& launches) {
    return first_on_their_streams(contents, launches).size() == 1 &&
           are_marked_since(contents, launches, last_step(contents, stuck.call.thread));
}

/// Returns the launches that a call may wait for. `by_markers` becomes true if it certainly waits for the
/// first.
std::vector<ring::Call> awaited_launches(const ring::Contents& contents, const StuckCall& stuck,
                                         bool& by_markers) {
    std::vector<ring::Call> launches = unended_launches(contents);
    const bool is_of_all = is_of_all_streams(stuck);
    const CrashCall& waits = stuck.call;
    const RecordedStream stream = recorded_stream(waits.stream, waits.thread, waits.context);
    const auto is_elsewhere = [&](const ring::Call& call) {
        const std::uint8_t there = call.record->context;
        if (is_of_all) return waits.context != 0 && there != 0 && there != waits.context;
        return !may_be_one_stream(recorded_stream(call), stream);
    };
    const bool are_known = is_of_all || !std::all_of(launches.begin(), launches.end(), is_elsewhere);
    if (are_known)
        launches.erase(std::remove_if(launches.begin(), launches.end(), is_elsewhere), launches.end());
    by_markers = are_known && is_known_by_markers(contents, stuck, launches);
    return launches;
}

/// True if every recorded launch of the context has a marker.
bool are_all_marked(const ring::Contents& contents, const ring::Call& launch) {
    const ring::Markers* const markers = contents.markers_of(launch.record->mark);
    return markers != nullptr && (markers->header.flags & ring::kNotAll) == 0;
}

/// "; 3 launches are queued behind it"
std::string behind_text(const Hang& hang) {
    if (hang.unended_count <= 1) return {};
    const std::uint64_t behind = hang.unended_count - 1;
    return "; " + std::to_string(behind) +
           (behind == 1 ? " launch is queued behind it" : " launches are queued behind it");
}

}  // namespace

std::vector<StuckCall> open_calls(const ring::Contents& contents, std::uint64_t unix_ns, std::uint32_t only) {
    std::vector<StuckCall> calls;
    for (const Thread& thread : contents.threads) {
        if (thread.ended || (only != 0 && thread.tid != only)) continue;
        const auto open = std::find_if(thread.records.rbegin(), thread.records.rend(), ring::is_open);
        if (open == thread.records.rend()) continue;
        StuckCall& stuck = calls.emplace_back();
        stuck.call = call_of(contents, thread, *open);
        // The stall starts at the thread's last step, which may be the return of a nested call.
        std::uint64_t tick = open->begin_ticks;
        for (const Record& record : thread.records)
            tick = std::max({tick, record.begin_ticks, record.end_ticks});
        stuck.nanoseconds = age_of(contents.header, tick, unix_ns);
    }
    return calls;
}

bool does_any_wait(const ring::Contents& contents) {
    const std::vector<StuckCall> open = open_calls(contents, 0);
    return std::any_of(open.begin(), open.end(), may_wait);
}

std::optional<StuckCall> unawaited_launch(const ring::Contents& contents, std::uint32_t mark,
                                          std::uint64_t completed) {
    const ring::MarkedStream* const stream = marked_stream(contents, mark);
    if (stream == nullptr || stream->completed > completed || stream->last <= completed) return std::nullopt;
    StuckCall stuck;
    stuck.is_without_wait = true;
    if (const std::optional<ring::Call> launch = first_marked_beyond(contents, mark, completed)) {
        stuck.call = call_of(contents, *launch->thread, *launch->record);
    } else {
        stuck.call.name = kOverwrittenLaunch;
        stuck.call.kind = CallKind::launch;
        stuck.call.thread = stream->tid;
        stuck.call.stream = stream->stream;
    }
    return stuck;
}

bool is_over(const ring::Contents& contents, const StuckCall& stuck) {
    if (!stuck.is_without_wait || stuck.call.sequence == 0) return false;
    for (const ring::Call& call : ring::merged_calls(contents)) {
        if (call.record->seq != stuck.call.sequence) continue;
        const ring::Markers* const markers = contents.markers_of(call.record->mark);
        return markers != nullptr && (markers->header.error != 0 || has_ended(contents, *call.record));
    }
    return false;
}

bool may_be_of_device(const Hang& hang) {
    const auto waits = [](const StuckCall& stuck) {
        return stuck.asks || stuck.is_without_wait || stuck.call.kind == CallKind::wait;
    };
    // A call that launches or loads may be busy on the host.
    return std::any_of(hang.calls.begin(), hang.calls.end(), waits) || !hang.unended.empty();
}

void conclude_hang(const ring::Contents& contents, Hang& hang) {
    std::stable_sort(hang.calls.begin(), hang.calls.end(),
                     [](const StuckCall& a, const StuckCall& b) { return a.nanoseconds > b.nanoseconds; });
    hang.unended.clear();
    hang.unended_count = 0;
    hang.by_markers = false;
    if (hang.calls.empty() || !may_wait(hang.calls.front())) return;
    const StuckCall& first = hang.calls.front();
    std::vector<ring::Call> launches;
    if (first.is_without_wait) {
        launches = unended_from(contents, first.call.sequence);
        hang.by_markers = !launches.empty() && are_all_marked(contents, launches.front());
    } else {
        launches = awaited_launches(contents, first, hang.by_markers);
    }
    hang.unended_count = launches.size();
    for (std::size_t i = 0; i < std::min(launches.size(), kMostUnended); ++i) {
        CrashCall& call =
            hang.unended.emplace_back(call_of(contents, *launches[i].thread, *launches[i].record));
        call.is_likely = i == 0 && !hang.by_markers;
    }
}

std::string seconds_text(std::uint64_t nanoseconds) {
    constexpr double kSecond = 1e9;
    std::string text;
    const double seconds = static_cast<double>(nanoseconds) / kSecond;
    append_fixed(seconds, seconds < 100 ? 1 : 0, text);
    return text + " s";
}

std::string stuck_text(const StuckCall& stuck) {
    std::string text = call_text(stuck.call);
    if (may_wait(stuck) && !is_of_all_streams(stuck)) {
        text += " on stream " + hex_text(stuck.call.stream);
    }
    text += stuck.asks ? ", \"not ready\" for " : stuck.is_without_wait ? ", unfinished for " : ", for ";
    text += seconds_text(stuck.nanoseconds) +
            (stuck.is_without_wait ? ", launched by thread " : ", in thread ") +
            std::to_string(stuck.call.thread);
    if (!stuck.place.name.empty()) text += " (" + clean_text(stuck.place.name) + ")";
    const std::string& where =
        stuck.place.wait_channel.empty() ? stuck.place.state : stuck.place.wait_channel;
    if (!where.empty()) text += ", " + clean_text(where);
    if (!stuck.place.code.empty()) text += " at " + clean_text(stuck.place.code);
    return text;
}

std::string stalled_text(const StuckCall& stuck) {
    const char* const what = stuck.asks              ? " has returned \"not ready\" for "
                             : stuck.is_without_wait ? " has not finished for "
                                                     : " has not returned for ";
    return what + seconds_text(stuck.nanoseconds);
}

std::string unended_text(const Hang& hang) {
    if (hang.calls.front().is_without_wait)
        return ", according to completion markers, and no call waits for it" + behind_text(hang);
    if (hang.unended.empty()) return {};
    CrashCall oldest = hang.unended.front();
    oldest.is_likely = false;  // the sentence says "likely" already
    std::string text = hang.by_markers ? "; it waits for " : "; it likely waits for ";
    text += call_text(oldest);
    if (!oldest.inside.empty()) text += ", inside " + oldest.inside;
    if (hang.by_markers)
        return text + ", which is unfinished according to completion markers" + behind_text(hang);
    if (hang.unended_count == 1) return text + ", the only launch not known to have finished";
    return text + ", the oldest of " + std::to_string(hang.unended_count) +
           " launches not known to have finished";
}

std::string hang_path(const std::string& ring) {
    return path_beside_ring(ring, "hang", ".json");
}

}  // namespace aoti_dbg
