// See timeline_observer.hpp.
#include "shim/timeline/timeline_observer.hpp"

#include <utility>

#include "base/unix_time.hpp"
#include "shim/calls/session.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/runtime/clock.hpp"
#include "shim/runtime/process.hpp"
#include "shim/timeline/timeline_part.hpp"

namespace aoti_dbg {
namespace {

void end_call(const ThreadState& state, const OpenCall& call) {
    if (call.record == nullptr) return;
    const TimedThread* const thread = state.parts.find<TimedThread>();
    if (thread == nullptr || thread->times == nullptr) return;
    // Many calls inside this one may have overwritten its record.
    const bool is_known = call.record->seq == call.seq && call.record->end_ticks != 0;
    thread->times->end(is_known ? call.record->end_ticks : ticks());
}

/// Puts a marker behind the launch that ends.
void mark(const ThreadState& state, const OpenCall& call, std::int32_t result) {
    if (call.record == nullptr || !ring::is_launch(call.kind)) return;
    TimedThread* const thread = state.parts.find<TimedThread>();
    if (thread == nullptr || thread->begun == 0) return;
    const std::uint64_t begun = std::exchange(thread->begun, 0);
    const TimelinePart* const part = state.session->part<TimelinePart>();
    if (result != 0 || part == nullptr || part->markers() == nullptr) return;
    // A call on the default stream may be described as one on its run's stream, so the record decides.
    part->markers()->mark(reinterpret_cast<CUstream>(call.record->stream),
                          {.seq = call.seq, .name = call.name, .begun = begun});
}

}  // namespace

CallMoments TimelineObserver::moments() const {
    return {.before = options().timeline, .after = options().timeline, .unwind = options().timeline};
}

void TimelineObserver::before(ThreadState& state, OpenCall& call) const {
    if (call.record == nullptr) return;
    TimelinePart* const part = state.session->part<TimelinePart>();
    if (part == nullptr) return;
    auto& thread = state.parts.get<TimedThread>();
    if (CallTimes* const times = part->times_of(thread, ring::is_launch(call.kind)); times != nullptr)
        return times->begin(call.record->begin_ticks, call.seq);
    MarkerRecorder* const markers = part->markers();
    if (markers == nullptr || !ring::is_launch(call.kind)) return;
    markers->prepare();
    thread.begun = unix_nanoseconds();
}

void TimelineObserver::after(ThreadState& state, OpenCall& call, std::int32_t result) const {
    end_call(state, call);
    mark(state, call, result);
}

void TimelineObserver::unwind(ThreadState& state, OpenCall& call, std::uintptr_t /*frame*/) const {
    end_call(state, call);
}

}  // namespace aoti_dbg
