#include "shim/measure/measuring_thread.hpp"

#include <mutex>
#include <utility>

#include "shim/calls/session.hpp"
#include "shim/measure/pending.hpp"
#include "shim/measure/torch_allocations.hpp"
#include "shim/runtime/clock.hpp"
#include "shim/runtime/names.hpp"
#include "shim/runtime/process.hpp"
#include "shim/tensors/call_tensors.hpp"

namespace aoti_dbg {
namespace {

/// True if a measurement may wait until other calls have begun. With triage or AOTI_DBG_SYNC, nothing waits:
/// a fault must not take its evidence along.
bool may_wait() {
    const Options& all = options();
    return all.reuse && !all.sync && !all.triage && are_allocations_watched();
}

}  // namespace

Measurer& measurer_of(const ThreadState& state) {
    return *state.session->part<Measurer>();
}

MeasuredCall& describe(ThreadState& state, const OpenCall& call, EventSide side) {
    SeenCall& seen = measuring_part(state).side.call;
    seen = {};
    MeasuredCall& described = seen.call;
    described.side = side;
    described.sequence = call.seq;
    described.time_ns = unix_nanoseconds();
    described.thread = tensors_of(state).thread;
    described.stream = call.stream;
    described.model = call.model;
    described.run = call.run;
    if (call.around != nullptr) described.run_name = call.around->name->printed;
    described.call = call.number;
    described.is_serialized = call.passage.is_serialized;
    return described;
}

void move_to(MeasuringThread& own, StreamPoint* point) {
    StreamPoint* before = std::exchange(own.point, point);
    if (before == point) return;
    // Both belong to a call at the point before. A call that runs others may still be open.
    own.passing = 0;
    own.at_point = 0;
    own.side.unreported_of = 0;
    for (StreamPoint* either : {before, point}) {
        if (either == nullptr) continue;
        const std::lock_guard lock(either->mutex());
        either->launch();
        either->forget_measured();
    }
}

StreamPoint* move_to_point_of(ThreadState& state, const OpenCall& call, When when) {
    MeasuringThread& own = measuring_part(state);
    Measurer& measurer = measurer_of(state);
    const bool is_there = when == When::after && own.at_point == call.mark;
    if (is_there && measurer.is_valid(own.found_point)) return own.point;
    move_to(own, measurer.point_of(reinterpret_cast<CUstream>(call.stream), own.found_point));
    own.at_point = call.mark;
    return own.point;
}

void note_written(MeasuredSide& side, const CallTensors& own) {
    for (std::size_t i = 0; i < own.found.size(); ++i) {
        if (!own.found[i].may_write || own.found[i].kind == CallArgument::Kind::scalar) continue;
        // An op that creates no tensor for an optional result writes nothing there. What it allocates is
        // reported.
        const bool is_created = own.found[i].only_after || own.found[i].facts->role == Role::makes;
        if (own.tensors[i].facts != nullptr)
            side.note_written(own.tensors[i]);
        else if (!is_created || !are_allocations_watched())
            side.note_unknown_write();
    }
}

MeasuredSide::Next next_at(const SitePlan* plan, const CallTensors& own, const StreamPoint& point) {
    constexpr auto kLaunches = MeasuredSide::Next::any_work;
    if (plan == nullptr || !plan->writes_declared_only || !may_wait()) return kLaunches;
    for (std::size_t i = 0; i < own.found.size(); ++i) {
        const CallArgument& argument = own.found[i];
        if (!argument.may_write || argument.only_after || argument.kind == CallArgument::Kind::scalar)
            continue;
        if (own.tensors[i].facts == nullptr || point.measures(own.tensors[i])) return kLaunches;
    }
    return MeasuredSide::Next::passing;
}

bool lets_pending_wait(void* stream) {
    ThreadState* const state = thread_state_if_any();
    const MeasuringThread* const own = state == nullptr ? nullptr : state->parts.find<MeasuringThread>();
    if (own == nullptr || own->passing == 0 || !own->point->is_stream(static_cast<CUstream>(stream)))
        return false;
    for (std::uint32_t i = state->depth; i-- > 0;)
        if (state->open[i].mark == own->passing) return true;
    return false;
}

}  // namespace aoti_dbg
