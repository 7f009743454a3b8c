// See ended_launches.hpp.
#include "serializer/ended_launches.hpp"

#include <algorithm>

namespace aoti_dbg {
namespace {

using ring::CallKind;
using ring::MarkedStream;
using ring::Markers;
using ring::Record;
using ring::Thread;

constexpr std::uint64_t kPerThread = 2;  // CU_STREAM_PER_THREAD: each thread has its own in each context

/// True even if the launch has not returned, because it may have been submitted.
bool was_handed_over(const Record& record) {
    return ring::is_launch(record.kind) && record.result == 0 && (record.flags & ring::kCaptured) == 0 &&
           (record.flags & ring::kUnwoundByException) == 0;
}

/// True if the first certainly precedes the second on the stream of both.
bool comes_before(const ring::Call& first, const ring::Call& second) {
    if (first.thread == second.thread) return first.record->seq < second.record->seq;
    return !ring::is_open(*first.record) && first.record->end_ticks <= second.record->begin_ticks;
}

/// Markers may distinguish contexts that have no numbers.
bool are_on_one_stream(const ring::Contents& contents, const ring::Call& one, const ring::Call& other) {
    return recorded_stream(one) == recorded_stream(other) &&
           contents.markers_of(one.record->mark) == contents.markers_of(other.record->mark);
}

/// True if the ring still has every launch of that thread after `seq`.
bool has_all_beyond(const Thread& thread, std::uint64_t seq) {
    return thread.written <= thread.records.size() ||
           (!thread.records.empty() && thread.records.front().seq <= seq + 1);
}

/// True if `launches` has every unended launch of the stream.
bool has_all_of(const MarkedStream& stream, std::uint32_t mark, const std::vector<ring::Call>& launches) {
    if (stream.tid == 0 || stream.last <= stream.completed) return true;
    const auto first = std::find_if(launches.begin(), launches.end(),
                                    [mark](const ring::Call& call) { return call.record->mark == mark; });
    return first != launches.end() && has_all_beyond(*first->thread, stream.completed);
}

/// Checks all streams of a context, or only the one with that handle.
bool has_all_of(const Markers& markers, const std::vector<ring::Call>& launches,
                std::optional<std::uint64_t> stream) {
    for (std::uint32_t i = 0; i < markers.streams.size(); ++i) {
        const MarkedStream& one = markers.streams[i];
        if ((!stream || one.stream == *stream) && !has_all_of(one, markers.first + i, launches)) return false;
    }
    return true;
}

}  // namespace

const MarkedStream* marked_stream(const ring::Contents& contents, std::uint32_t mark) {
    const Markers* const markers = contents.markers_of(mark);
    return markers == nullptr ? nullptr : &markers->streams[mark - markers->first];
}

RecordedStream recorded_stream(std::uint64_t stream, std::uint64_t thread, std::uint8_t context) {
    const bool is_of_thread = stream == kPerThread;
    const bool was_made = stream > kPerThread;
    return {stream, is_of_thread ? static_cast<std::uint32_t>(thread) : 0,
            was_made ? std::uint8_t{0} : context};
}

bool may_be_one_stream(const RecordedStream& one, const RecordedStream& other) {
    const auto& [handle, thread, context] = one;
    const auto& [other_handle, other_thread, other_context] = other;
    return handle == other_handle && thread == other_thread &&
           (context == other_context || context == 0 || other_context == 0);
}

EndedLaunches::EndedLaunches(const ring::Contents& contents, std::uint64_t up_to) : contents_(contents) {
    for (const Thread& thread : contents.threads) {
        for (const Record& record : thread.records) {
            const bool has_waited =
                record.kind == CallKind::wait && !ring::is_open(record) && record.result == 0;
            if (has_waited && record.seq <= up_to) take(record, thread.tid, contents.name(record.name));
        }
    }
}

void EndedLaunches::take(const Record& wait, std::uint32_t thread, std::string_view name) {
    if (name == "cuCtxSynchronize") {
        std::uint64_t& done = everything_[wait.context];
        done = std::max(done, wait.seq);
        return;
    }
    const bool shows_progress = name == "cuStreamSynchronize" || name == "cuEventSynchronize" ||
                                name == "cuStreamQuery" || name == "cuEventQuery" || name == "cuMemcpyDtoH";
    if (!shows_progress || wait.launch >= wait.seq) return;
    // An event covers everything up to and including the last call before it was recorded.
    const std::uint64_t before = wait.launch == 0 ? wait.seq : wait.seq - wait.launch + 1;
    std::uint64_t& done = streams_[recorded_stream(wait.stream, thread, wait.context)];
    done = std::max(done, before);
}

bool EndedLaunches::holds(const ring::Call& launch) const {
    const Record& record = *launch.record;
    if (has_ended(contents_, record)) return true;
    const auto everything = everything_.find(record.context);
    if (everything != everything_.end() && record.seq < everything->second) return true;
    const auto stream = streams_.find(recorded_stream(launch));
    return stream != streams_.end() && record.seq < stream->second;
}

std::optional<ring::Call> first_marked_beyond(const ring::Contents& contents, std::uint32_t mark,
                                              std::uint64_t completed) {
    const MarkedStream* const stream = marked_stream(contents, mark);
    for (const Thread& thread : contents.threads) {
        if (stream == nullptr || thread.tid != stream->tid || !has_all_beyond(thread, completed)) continue;
        for (const Record& record : thread.records)
            if (record.mark == mark && record.seq > completed && was_handed_over(record))
                return ring::Call{&thread, &record};
    }
    return std::nullopt;
}

bool has_ended(const ring::Contents& contents, const Record& launch) {
    const MarkedStream* const stream = marked_stream(contents, launch.mark);
    return stream != nullptr && launch.seq <= stream->completed;
}

std::vector<ring::Call> unended_from(const ring::Contents& contents, std::uint64_t seq) {
    std::vector<ring::Call> launches;
    for (const ring::Call& call : ring::merged_calls(contents)) {
        const Record& record = *call.record;
        if (record.seq < seq || record.mark == 0 || !was_handed_over(record) || has_ended(contents, record))
            continue;
        const bool is_there =
            launches.empty() ? record.seq == seq : are_on_one_stream(contents, launches.front(), call);
        if (is_there) launches.push_back(call);
    }
    return launches;
}

std::vector<ring::Call> unended_launches(const ring::Contents& contents) {
    const EndedLaunches ended(contents);
    std::vector<ring::Call> launches;
    for (const ring::Call& call : ring::merged_calls(contents))
        if (was_handed_over(*call.record) && !ring::is_open(*call.record) && !ended.holds(call))
            launches.push_back(call);
    return launches;
}

std::vector<ring::Call> unended_beside(const ring::Contents& contents, const ring::Call& faulted) {
    const std::uint64_t seq = faulted.record->seq;
    const EndedLaunches ended(contents, seq);
    std::vector<ring::Call> launches;
    for (const ring::Call& call : ring::merged_calls(contents)) {
        const bool is_other = call.record != faulted.record && was_handed_over(*call.record);
        if (!is_other || ended.holds(call)) continue;
        // The faulted launch could not run before these ended.
        if (are_on_one_stream(contents, call, faulted) && comes_before(call, faulted)) continue;
        launches.push_back(call);
    }
    const auto distance = [seq](const ring::Call& call) {
        return std::max(call.record->seq, seq) - std::min(call.record->seq, seq);
    };
    std::stable_sort(launches.begin(), launches.end(),
                     [&](const ring::Call& a, const ring::Call& b) { return distance(a) < distance(b); });
    return launches;
}

std::vector<ring::Call> first_on_their_streams(const ring::Contents& contents,
                                               const std::vector<ring::Call>& launches) {
    std::vector<ring::Call> first;
    for (const ring::Call& call : launches) {
        const auto is_behind = [&](const ring::Call& other) {
            return are_on_one_stream(contents, other, call) && comes_before(other, call);
        };
        if (std::none_of(first.begin(), first.end(), is_behind)) first.push_back(call);
    }
    return first;
}

bool are_marked_since(const ring::Contents& contents, const std::vector<ring::Call>& launches,
                      std::uint64_t ticks) {
    return std::all_of(launches.begin(), launches.end(), [&](const ring::Call& launch) {
        const Markers* const markers = contents.markers_of(launch.record->mark);
        return markers != nullptr && (markers->header.flags & ring::kNotAll) == 0 &&
               markers->header.looked_ticks > ticks && has_all_of(*markers, launches, launch.record->stream);
    });
}

FaultSuspects fault_suspects(const ring::Contents& contents) {
    const auto has_failed = [](const Markers& markers) { return markers.header.error != 0; };
    std::vector<ring::Call> launches;
    bool has_others = false;
    for (const ring::Call& call : ring::merged_calls(contents)) {
        if (!was_handed_over(*call.record)) continue;
        const Markers* const markers = contents.markers_of(call.record->mark);
        has_others |= markers == nullptr && ring::is_open(*call.record);
        if (markers == nullptr || !has_failed(*markers)) continue;
        if (!has_ended(contents, *call.record)) launches.push_back(call);
    }
    FaultSuspects suspects{first_on_their_streams(contents, launches), false};
    bool has_all = !has_others;
    std::size_t failed = 0;
    for (const Markers& markers : contents.markers) {
        if (!has_failed(markers)) continue;
        ++failed;
        has_all = has_all && markers.header.flags == 0;
        has_all = has_all && has_all_of(markers, launches, std::nullopt);
    }
    suspects.is_certain = has_all && failed == 1 && suspects.launches.size() == 1;
    return suspects;
}

}  // namespace aoti_dbg
