// See timeline_observer.hpp.
#include "shim/timeline/timeline_observer.hpp"

#include "base/unix_time.hpp"
#include "shim/calls/session.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/runtime/process.hpp"
#include "shim/timeline/timeline_part.hpp"

namespace aoti_dbg {
namespace {

void end_call(ThreadState& state, const OpenCall& call) {
    if (call.record == nullptr) return;
    const TimedThread* const thread = state.parts.find<TimedThread>();
    if (thread != nullptr && thread->times != nullptr) thread->times->end(unix_nanoseconds());
}

}  // namespace

CallMoments TimelineObserver::moments() const {
    return {.before = options().timeline, .after = options().timeline, .unwind = options().timeline};
}

void TimelineObserver::before(ThreadState& state, OpenCall& call) const {
    if (call.record == nullptr) return;
    TimelinePart* const part = state.session->part<TimelinePart>();
    CallTimes* const times = part == nullptr
                                 ? nullptr
                                 : part->times_of(state.parts.get<TimedThread>(), ring::is_launch(call.kind));
    if (times != nullptr) times->begin(unix_nanoseconds(), call.seq);
}

void TimelineObserver::after(ThreadState& state, OpenCall& call, std::int32_t /*result*/) const {
    end_call(state, call);
}

void TimelineObserver::unwind(ThreadState& state, OpenCall& call, std::uintptr_t /*frame*/) const {
    end_call(state, call);
}

}  // namespace aoti_dbg
