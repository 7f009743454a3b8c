#include "shim/measure/measuring.hpp"

#include <atomic>
#include <mutex>
#include <utility>

#include "base/errno_keeper.hpp"
#include "base/message.hpp"
#include "shim/calls/calls.hpp"
#include "shim/calls/session.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/findings/measured_output.hpp"
#include "shim/measure/measured_side.hpp"
#include "shim/measure/measurer.hpp"
#include "shim/measure/pending.hpp"
#include "shim/measure/torch_allocations.hpp"
#include "shim/runtime/clock.hpp"
#include "shim/runtime/names.hpp"
#include "shim/runtime/process.hpp"
#include "shim/runtime/slots.hpp"
#include "shim/tensors/call_tensors.hpp"
#include "shim/tensors/measured_model.hpp"
#include "stats_kernels/float_state.hpp"

namespace aoti_dbg {
namespace {

/// The part of a thread that measures.
struct MeasuringThread {
    StreamPoint* point = nullptr;  // of the last measured call
    Measurer::FoundPoint found_point;
    std::uint64_t passing = 0;  // mark of the call whose work what waits at the point lets pass
    SideState side;
};

MeasuringThread& own_part(ThreadState& state) {
    return state.parts.get<MeasuringThread>();
}

Measurer& measurer_of(const ThreadState& state) {
    return *state.session->part<Measurer>();
}

MeasuredCall described(ThreadState& state, const OpenCall& call, EventSide side) {
    MeasuredCall described;
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

/// Switches to the point of another stream. Both points launch what waits and forget their measurements, because
/// the streams are not ordered.
void move_to(MeasuringThread& own, StreamPoint* point) {
    StreamPoint* before = std::exchange(own.point, point);
    if (before == point) return;
    for (StreamPoint* either : {before, point}) {
        if (either == nullptr) continue;
        const std::lock_guard lock(either->mutex());
        either->launch();
        either->forget_measured();
    }
}

/// The stream is the launch's own, or else that of the run.
StreamPoint* point_of(ThreadState& state, const OpenCall& call) {
    MeasuringThread& own = own_part(state);
    move_to(own, measurer_of(state).point_of(reinterpret_cast<CUstream>(call.stream), own.found_point));
    return own.point;
}

void say_that_results_are_late(std::uint32_t run) {
    static std::atomic<bool> said{false};
    if (said.exchange(true)) return;
    message(Severity::warn,
            "some results of run %u did not arrive within 10 s. The run returns as without "
            "AOTI_DBG_ON_FINDING=raise, whatever they show. Measure fewer kernels (AOTI_DBG_KERNELS) or runs "
            "(AOTI_DBG_RUNS).",
            run);
}

/// True if a measurement may wait until other calls have begun. With triage or AOTI_DBG_SYNC, nothing waits: a
/// fault must not take its evidence along.
bool may_wait() {
    const Options& all = options();
    return all.reuse && !all.sync && !all.triage && are_allocations_watched();
}

/// True if the call changes nothing that is measured at the point. `own` has its arguments.
bool passes(const SitePlan* plan, const CallTensors& own, const StreamPoint& point) {
    if (plan == nullptr || !plan->writes_declared_only || !may_wait()) return false;
    for (std::size_t i = 0; i < own.found.size(); ++i) {
        const CallArgument& argument = own.found[i];
        if (!argument.may_write || argument.only_after || argument.kind == CallArgument::Kind::scalar) continue;
        if (own.tensors[i].facts == nullptr || point.measures(own.tensors[i])) return false;
    }
    return true;
}

/// Measures the arguments of one side.
void add_arguments(MeasuredSide& side, const CallTensors& own, When when, bool is_printed,
                   std::int32_t result) {
    for (std::size_t i = 0; i < own.found.size(); ++i) {
        const CallArgument& argument = own.found[i];
        if (argument.kind == CallArgument::Kind::scalar) {
            side.add_scalar(argument);
        } else if (!has_tensor(own, i, when, result)) {
            continue;
        } else if (when == When::before && !is_printed && argument.facts->role == Role::writes) {
            // The call replaces these contents, so it does not matter whether they have NaN.
            side.add_if_known(*argument.facts, own.tensors[i]);
        } else {
            side.add_tensor(*argument.facts, own.tensors[i]);
        }
    }
}

}  // namespace

void measure_call(ThreadState& state, const MeasuredModel& model, const OpenCall& call, When when,
                  const TensorRequest& requested, std::int32_t result) {
    const DefaultFloatState float_state;
    CallTensors& own = tensors_of(state);
    const SitePlan* plan = model.site(call.site);
    find_arguments(own, model, call, when);
    MeasuredSide side(own_part(state).side, measurer_of(state), model.api(), call, requested);
    if (model.is_on_cuda()) {
        StreamPoint* point = point_of(state, call);
        if (point == nullptr || !side.at(*point, when == When::before)) {
            if (requested.printed && !requested.named) report_name(state, call, when);
            return;
        }
    }
    // Forget everything that the call wrote first, so that no measurement below reuses an outdated result.
    for (std::size_t i = 0; when == When::after && i < own.found.size(); ++i) {
        if (!own.found[i].may_write || own.found[i].kind == CallArgument::Kind::scalar) continue;
        if (own.tensors[i].facts != nullptr) {
            side.note_written(own.tensors[i]);
        } else {
            side.note_unknown_write();
        }
    }
    if (when == When::after && (result != 0 || plan == nullptr)) side.note_unknown_write();
    add_arguments(side, own, when, requested.printed, result);
    MeasuredCall event = described(state, call, when == When::before ? EventSide::before : EventSide::after);
    event.site = &site_facts(&model, call);
    event.result = result;
    MeasuringThread& thread = own_part(state);
    auto next = MeasuredSide::Next::same_point;
    if (when == When::before)
        next = thread.point != nullptr && passes(plan, own, *thread.point) ? MeasuredSide::Next::passing
                                                                           : MeasuredSide::Next::any_work;
    thread.passing = next == MeasuredSide::Next::passing ? call.mark.get() : 0;
    side.report(event, next);
}

void report_name(ThreadState& state, const OpenCall& call, When when) {
    MeasuringThread& own = own_part(state);
    MeasuredCall event = described(state, call, when == When::before ? EventSide::before : EventSide::after);
    event.name_only = true;
    event.site = &site_facts(call.measured, call);
    event.nesting = nesting_of(state);
    SeenCall seen;
    seen.call = event;
    seen.printed = true;
    own.side.arguments.clear();
    measurer_of(state).report(seen, own.side.arguments, nullptr);
}

void measure_ends(ThreadState& state, const MeasuredModel& model, const OpenCall& run, EventSide side,
                  const TensorRequest& requested) {
    if (!run.passage.has_ends()) return;
    const DefaultFloatState float_state;
    CallTensors& own = tensors_of(state);
    const CUcontext context = find_end_tensors(own, model, run, side);
    MeasuringThread& thread = own_part(state);
    MeasuredSide measured(thread.side, measurer_of(state), model.api(), run, requested);
    if (model.is_on_cuda()) {
        move_to(thread, measurer_of(state).point_of(reinterpret_cast<CUstream>(run.stream), context));
        if (thread.point != nullptr && !measured.at(*thread.point)) return;
    }
    const bool are_inputs = side == EventSide::inputs;
    for (std::size_t i = 0; i < own.tensors.size(); ++i) {
        if (own.tensors[i].facts == nullptr) continue;
        measured.add_tensor(are_inputs ? model.input(i) : model.output(i), own.tensors[i]);
    }
    measured.report(described(state, run, side),
                    are_inputs ? MeasuredSide::Next::same_point : MeasuredSide::Next::any_work);
}

std::optional<std::string> take_finding(ThreadState& state, const OpenCall& run) {
    if (!measurer_of(state).wait_until_written()) say_that_results_are_late(run.run);
    return state.session->part<MeasuredOutput>()->take_found_in(run.run);
}

void end_measured_run(ThreadState& state) {
    StreamPoint* point = own_part(state).point;
    if (point == nullptr) return;
    const std::lock_guard lock(point->mutex());
    point->launch();
    point->forget_measured();
}

void forget_measured(ThreadState& state) {
    const MeasuringThread* const own = state.parts.find<MeasuringThread>();
    if (own == nullptr || own->point == nullptr) return;
    StreamPoint& point = *own->point;
    const std::lock_guard lock(point.mutex());
    point.forget_measured();
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

void note_unseen_work() {
    ThreadState* state = thread_state_if_any();
    if (state == nullptr || state->depth == 0 || state->top()->kind != ring::CallKind::run) return;
    const ErrnoKeeper errno_keeper;
    forget_measured(*state);
}

}  // namespace aoti_dbg
