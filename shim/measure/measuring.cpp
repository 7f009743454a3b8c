#include "shim/measure/measuring.hpp"

#include <atomic>
#include <mutex>
#include <utility>

#include "base/errno_keeper.hpp"
#include "base/message.hpp"
#include "shim/calls/calls.hpp"
#include "shim/calls/run_failure.hpp"
#include "shim/calls/session.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/measure/measured_output.hpp"
#include "shim/measure/measured_side.hpp"
#include "shim/measure/measurer.hpp"
#include "shim/measure/measuring_thread.hpp"
#include "shim/measure/names_output.hpp"
#include "shim/measure/pending.hpp"
#include "shim/runtime/clock.hpp"
#include "shim/runtime/process.hpp"
#include "shim/runtime/slots.hpp"
#include "shim/save/saved_side.hpp"
#include "shim/tensors/measured_model.hpp"
#include "stats_kernels/float_state.hpp"

namespace aoti_dbg {
namespace {

MeasuredCall described(const ThreadState& state, const OpenCall& call, EventSide side) {
    MeasuredCall described;
    described.side = side;
    described.sequence = call.seq;
    described.time_ns = unix_nanoseconds();
    described.thread = state.measuring->thread;
    described.stream = call.stream;
    described.model = call.model;
    described.run = call.run;
    described.call = call.number;
    return described;
}

const SiteFacts& site_facts(const SitePlan* plan, const OpenCall& call) {
    return plan != nullptr ? plan->facts : unknown_site(*call.name, call.kind);
}

/// Switches to the point of another stream. Both points forget their measurements, because the streams are
/// not ordered.
void move_to(MeasuringThread& own, StreamPoint* point) {
    StreamPoint* before = std::exchange(own.point, point);
    if (before == point) return;
    for (StreamPoint* either : {before, point}) {
        if (either == nullptr) continue;
        const std::lock_guard lock(either->mutex());
        either->forget_measured();
    }
}

/// The stream is the launch's own, or else that of the run.
StreamPoint* point_of(ThreadState& state, const OpenCall& call) {
    MeasuringThread& own = own_part(state);
    move_to(own,
            state.session->measurer()->point_of(reinterpret_cast<CUstream>(call.stream), own.found_point));
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

/// True if there is a tensor to inspect. A call that failed may have created nothing.
bool is_there(const MeasuringThread& own, std::size_t i, When when, std::int32_t result) {
    const CallArgument& argument = own.found[i];
    if (argument.kind == CallArgument::Kind::scalar || own.tensors[i].facts == nullptr) return false;
    const bool is_made = argument.only_after || argument.facts->role == Role::makes;
    return !is_made || (when == When::after && result == 0);
}

SavedSide::Of saved_side(const OpenCall& call, EventSide side, std::string_view kernel) {
    return {
        side, call.model, call.run, call.number, call.seq, kernel, reinterpret_cast<CUstream>(call.stream)};
}

void save_call(ThreadState& state, const OpenCall& call, When when, const SitePlan* plan,
               const TensorRequest& wanted, std::int32_t result) {
    Saving* saving = state.session->saving();
    if (saving == nullptr) return;
    const MeasuringThread& own = *state.measuring;
    const EventSide side = when == When::before ? EventSide::before : EventSide::after;
    SavedSide saved(*saving, saved_side(call, side, site_facts(plan, call).kernel));
    for (std::size_t i = 0; i < own.found.size(); ++i) {
        if (is_there(own, i, when, result)) saved.add(*own.found[i].facts, own.tensors[i]);
    }
    saved.send();
    saving->sync();
    // If the tensors cannot be saved, the name is printed instead, once.
    if (saved.lacks_device() && !wanted.named && !wanted.printed) show_name(state, call, when);
}

void save_ends(ThreadState& state, const MeasuredModel& model, const OpenCall& run, EventSide side,
               CUcontext context) {
    Saving* saving = state.session->saving();
    if (saving == nullptr) return;
    const MeasuringThread& own = *state.measuring;
    SavedSide::Of of = saved_side(run, side, {});
    of.context = context;
    SavedSide saved(*saving, of);
    for (std::uint64_t i = 0; i < own.tensors.size(); ++i) {
        if (own.tensors[i].facts == nullptr) continue;
        saved.add(side == EventSide::inputs ? model.input(i) : model.output(i), own.tensors[i]);
    }
    saved.send();
    saving->sync();
}

}  // namespace

void measure_call(ThreadState& state, const MeasuredModel& model, const OpenCall& call, When when,
                  const TensorRequest& wanted, std::int32_t result) {
    const DefaultFloatState float_state;
    MeasuringThread& own = own_part(state);
    const SitePlan* plan = model.site(call.site);
    find_arguments(own, model, call, when);
    if (wanted.saved) save_call(state, call, when, plan, wanted, result);
    if (!wanted.measured()) return;
    MeasuredSide side(own.side, *state.session->measurer(), model.api(), call, wanted);
    if (model.is_on_cuda()) {
        StreamPoint* point = point_of(state, call);
        if (point == nullptr || !side.at(*point, when == When::before)) {
            if (wanted.printed && !wanted.named) report_name(state, call, when);
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
    for (std::size_t i = 0; i < own.found.size(); ++i) {
        const CallArgument& argument = own.found[i];
        if (argument.kind == CallArgument::Kind::scalar) {
            side.add_scalar(argument);
        } else if (is_there(own, i, when, result)) {
            side.add_tensor(*argument.facts, own.tensors[i]);
        }
    }
    MeasuredCall event = described(state, call, when == When::before ? EventSide::before : EventSide::after);
    event.site = &site_facts(plan, call);
    event.result = result;
    side.report(event, when == When::before);
}

void report_name(ThreadState& state, const OpenCall& call, When when) {
    MeasuringThread& own = own_part(state);
    MeasuredCall event = described(state, call, when == When::before ? EventSide::before : EventSide::after);
    event.name_only = true;
    event.site = &unknown_site(*call.name, call.kind);
    event.nesting = nesting_of(state);
    SeenCall seen;
    seen.call = event;
    seen.printed = true;
    own.side.arguments.clear();
    state.session->measurer()->report(seen, own.side.arguments, nullptr);
}

void measure_ends(ThreadState& state, const MeasuredModel& model, const OpenCall& run, EventSide side,
                  const TensorRequest& wanted) {
    if (run.passage.frame == nullptr) return;
    const DefaultFloatState float_state;
    const bool are_inputs = side == EventSide::inputs;
    const auto* handles =
        reinterpret_cast<const TensorHandle*>(run.passage.frame->integer(are_inputs ? 1 : 3));
    const std::uint64_t count = handles == nullptr ? 0 : run.passage.frame->integer(are_inputs ? 2 : 4);
    MeasuringThread& own = own_part(state);
    begin_finding(own);
    own.tensors.resize(count);
    CUcontext context = nullptr;
    for (std::uint64_t i = 0; i < count; ++i) {
        SeenTensor& tensor = own.tensors[i];
        tensor.facts = nullptr;
        if (handles[i] == nullptr || !own.reader.read(model.api(), handles[i], tensor)) continue;
        // Before the model sets its device, this thread may have no context or a different one.
        if (context == nullptr && tensor.facts->place == Place::cuda)
            context = Measurer::context_of_memory(tensor.address);
    }
    if (wanted.saved) save_ends(state, model, run, side, context);
    if (!wanted.measured()) return;
    MeasuredSide measured(own.side, *state.session->measurer(), model.api(), run, wanted);
    if (model.is_on_cuda()) {
        move_to(own, state.session->measurer()->point_of(reinterpret_cast<CUstream>(run.stream), context));
        if (own.point != nullptr && !measured.at(*own.point)) return;
    }
    for (std::uint64_t i = 0; i < count; ++i) {
        if (own.tensors[i].facts == nullptr) continue;
        measured.add_tensor(are_inputs ? model.input(i) : model.output(i), own.tensors[i]);
    }
    measured.report(described(state, run, side), !are_inputs);
}

namespace {

/// Returns whether the run had a finding. It finds out only if `asks` is set or if saved tensors depend on
/// it.
bool end_saved_run(Session& session, const OpenCall& run, bool asks) {
    Saving* saving = session.present_saving();
    const bool keeps_if_found = saving != nullptr && options().save_on == SaveOn::finding;
    bool is_found = false;
    if (asks || (keeps_if_found && finding())) {
        if (!session.measurer()->wait_until_written()) say_that_results_are_late(run.run);
        is_found = session.output()->takes_found_in(run.run);
    }
    if (saving != nullptr) saving->end_of_run(run.run, is_found);
    return is_found;
}

}  // namespace

void end_measured_run(ThreadState& state, const OpenCall& run) {
    Session& session = *state.session;
    StreamPoint* point = own_part(state).point;
    if (point != nullptr) {
        const std::lock_guard lock(point->mutex());
        point->launch();
        point->forget_measured();
    }
    const bool raises = finding() && options().on_finding == OnFinding::raise;
    const bool is_found = end_saved_run(session, run, raises);
    if (raises && is_found) fail_run(state, run);
}

void end_unwound_run(ThreadState& state, const OpenCall& run) {
    (void)end_saved_run(*state.session, run, false);
}

void forget_measured(ThreadState& state) {
    if (!state.measuring || state.measuring->point == nullptr) return;
    StreamPoint& point = *state.measuring->point;
    const std::lock_guard lock(point.mutex());
    point.forget_measured();
}

void note_unseen_work() {
    ThreadState* state = thread_state_if_any();
    if (state == nullptr || state->depth == 0 || state->top()->kind != ring::CallKind::run) return;
    const ErrnoKeeper errno_keeper;
    forget_measured(*state);
}

}  // namespace aoti_dbg
