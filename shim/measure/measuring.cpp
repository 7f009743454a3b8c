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
#include "shim/measure/measuring_thread.hpp"
#include "shim/measure/pending.hpp"
#include "shim/measure/value_check.hpp"
#include "shim/runtime/names.hpp"
#include "shim/runtime/process.hpp"
#include "shim/runtime/slots.hpp"
#include "shim/tensors/call_tensors.hpp"
#include "shim/tensors/measured_model.hpp"
#include "stats_kernels/float_state.hpp"

namespace aoti_dbg {
namespace {

void say_that_results_are_late(std::uint32_t run) {
    static std::atomic<bool> said{false};
    if (said.exchange(true)) return;
    message(Severity::warn,
            "some results of run %u did not arrive within 10 s. The run returns as without "
            "AOTI_DBG_ON_FINDING=raise, whatever they show. Measure fewer kernels (AOTI_DBG_KERNELS) or runs "
            "(AOTI_DBG_RUNS).",
            run);
}

/// Measures the arguments of one side.
void add_arguments(MeasuredSide& side, const CallTensors& own, When when, std::int32_t result) {
    for (std::size_t i = 0; i < own.found.size(); ++i) {
        const CallArgument& argument = own.found[i];
        if (argument.kind == CallArgument::Kind::scalar) {
            side.add_scalar(argument);
        } else if (has_tensor(own, i, when, result)) {
            side.add_tensor(*argument.facts, own.tensors[i]);
        }
    }
}

}  // namespace

void measure_call(ThreadState& state, const MeasuredModel& model, const OpenCall& call, When when,
                  const TensorRequest& requested, std::int32_t result) {
    if (!requested.printed && (when == When::before ? check_before(state, model, call, requested)
                                                    : check_after(state, model, call, requested, result)))
        return;
    const DefaultFloatState float_state;
    CallTensors& own = tensors_of(state);
    const SitePlan* plan = model.site(call.site);
    find_arguments(own, model, call, when);
    MeasuringThread& thread = measuring_part(state);
    MeasuredSide side(thread.side, measurer_of(state), model.api(), call, requested);
    if (model.is_on_cuda()) {
        StreamPoint* point = move_to_point_of(state, call, when);
        if (point == nullptr || !side.at(*point, when == When::before)) {
            if (requested.printed && !requested.named) report_name(state, call, when);
            return;
        }
    }
    MeasuredCall& event = describe(state, call, when == When::before ? EventSide::before : EventSide::after);
    event.site = &site_facts(&model, call);
    event.result = result;
    if (when == When::after) note_written(side, own);
    if (when == When::after && (result != 0 || plan == nullptr || moves_tensors(call)))
        side.note_unknown_write();
    add_arguments(side, own, when, result);
    auto next = MeasuredSide::Next::same_point;
    if (when == When::before)
        next = thread.point == nullptr ? MeasuredSide::Next::any_work : next_at(plan, own, *thread.point);
    thread.passing = next == MeasuredSide::Next::passing ? call.mark.get() : 0;
    side.report(next);
}

void report_name(ThreadState& state, const OpenCall& call, When when) {
    MeasuringThread& own = measuring_part(state);
    MeasuredCall& event = describe(state, call, when == When::before ? EventSide::before : EventSide::after);
    event.name_only = true;
    event.site = &site_facts(call.measured, call);
    event.nesting = call.nesting;
    own.side.call.printed = true;
    own.side.arguments.clear();
    measurer_of(state).report(own.side.call, own.side.arguments, nullptr);
}

void measure_ends(ThreadState& state, const MeasuredModel& model, const OpenCall& run, EventSide side,
                  const TensorRequest& requested) {
    if (!run.passage.has_ends()) return;
    const DefaultFloatState float_state;
    CallTensors& own = tensors_of(state);
    const CUcontext context = find_end_tensors(own, model, run, side);
    MeasuringThread& thread = measuring_part(state);
    MeasuredSide measured(thread.side, measurer_of(state), model.api(), run, requested);
    if (model.is_on_cuda()) {
        move_to(thread, measurer_of(state).point_of(reinterpret_cast<CUstream>(run.stream), context));
        if (thread.point != nullptr && !measured.at(*thread.point)) return;
    }
    describe(state, run, side);
    const bool are_inputs = side == EventSide::inputs;
    for (std::size_t i = 0; i < own.tensors.size(); ++i) {
        if (own.tensors[i].facts == nullptr) continue;
        measured.add_tensor(are_inputs ? model.input(i) : model.output(i), own.tensors[i]);
    }
    measured.report(are_inputs ? MeasuredSide::Next::same_point : MeasuredSide::Next::any_work);
}

std::optional<std::string> take_finding(ThreadState& state, const OpenCall& run) {
    if (!measurer_of(state).wait_until_written()) say_that_results_are_late(run.run);
    return state.session->part<MeasuredOutput>()->take_found_in(run.run);
}

void end_measured_run(ThreadState& state) {
    StreamPoint* point = measuring_part(state).point;
    if (point == nullptr) return;
    const std::lock_guard lock(point->mutex());
    point->launch();
    point->forget_measured();
}

namespace {

/// Calls a function of the point of the thread's last call, if there is one.
void with_point_of(ThreadState& state, void (StreamPoint::*what)()) {
    const MeasuringThread* const own = state.parts.find<MeasuringThread>();
    if (own == nullptr || own->point == nullptr) return;
    const std::lock_guard lock(own->point->mutex());
    (own->point->*what)();
}

/// Returns the run that the calling thread is directly in, or null.
OpenCall* run_of(ThreadState* state) {
    OpenCall* const top = state == nullptr ? nullptr : state->top();
    return top != nullptr && top->kind == ring::CallKind::run ? top : nullptr;
}

}  // namespace

void forget_measured(ThreadState& state) {
    with_point_of(state, &StreamPoint::forget_measured);
}

void note_unseen_work() {
    ThreadState* const state = thread_state_if_any();
    if (run_of(state) == nullptr) return;
    const ErrnoKeeper errno_keeper;
    forget_measured(*state);
}

void forget_launched() {
    ThreadState* const state = thread_state_if_any();
    if (state == nullptr) return;
    const ErrnoKeeper errno_keeper;
    with_point_of(*state, &StreamPoint::forget_launched);
}

bool is_before_first_call() {
    const OpenCall* const run = run_of(thread_state_if_any());
    return run != nullptr && run->next_call == 0;
}

}  // namespace aoti_dbg
