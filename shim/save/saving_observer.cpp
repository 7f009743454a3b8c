// See saving_observer.hpp.
#include "shim/save/saving_observer.hpp"

#include "shim/calls/calls.hpp"
#include "shim/calls/session.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/runtime/ended_context.hpp"
#include "shim/runtime/process.hpp"
#include "shim/save/saved_side.hpp"
#include "shim/save/saving_part.hpp"
#include "shim/tensors/call_tensors.hpp"
#include "shim/tensors/measured_model.hpp"

namespace aoti_dbg {
namespace {

SavedSide::Of saved_side(const OpenCall& call, EventSide side, std::string_view kernel) {
    return {
        side, call.model, call.run, call.number, call.seq, kernel, reinterpret_cast<CUstream>(call.stream)};
}

void save_call(ThreadState& state, Saving& saving, OpenCall& call, When when, std::int32_t result) {
    CallTensors& own = tensors_of(state);
    find_arguments(own, *call.measured, call, when);
    const EventSide side = when == When::before ? EventSide::before : EventSide::after;
    SavedSide saved(saving, saved_side(call, side, site_facts(call.measured, call).kernel));
    for (std::size_t i = 0; i < own.found.size(); ++i) {
        if (has_tensor(own, i, when, result)) saved.add(*own.found[i].facts, own.tensors[i]);
    }
    saved.send();
    const TensorRequest& request = when == When::before ? call.before : call.after;
    call.is_unsaved = saved.lacks_device() && !request.named && !request.printed;
}

void save_ends(ThreadState& state, Saving& saving, const OpenCall& run, EventSide side) {
    CallTensors& own = tensors_of(state);
    const MeasuredModel& model = *run.measured;
    SavedSide::Of of = saved_side(run, side, {});
    of.context = find_end_tensors(own, model, run, side);
    SavedSide saved(saving, of);
    for (std::size_t i = 0; i < own.tensors.size(); ++i) {
        if (own.tensors[i].facts == nullptr) continue;
        saved.add(side == EventSide::inputs ? model.input(i) : model.output(i), own.tensors[i]);
    }
    saved.send();
}

void save(ThreadState& state, OpenCall& call, When when, std::int32_t result) {
    call.is_unsaved = false;
    // Newer runs must not replace the one with the fault.
    if (context_has_ended()) return;
    const TensorRequest& request = when == When::before ? call.before : call.after;
    const bool is_run = call.kind == ring::CallKind::run;
    if (!request.saved || call.measured == nullptr || (is_run && result != 0)) return;
    SavingPart* const part = state.session->part<SavingPart>();
    Saving* const saving = part == nullptr ? nullptr : part->saving();
    if (saving == nullptr) return;
    if (is_run) {
        save_ends(state, *saving, call, when == When::before ? EventSide::inputs : EventSide::outputs);
    } else {
        save_call(state, *saving, call, when, result);
    }
    saving->sync();
}

}  // namespace

CallMoments SavingObserver::moments() const {
    return {.before_requested = saving(), .after_requested = saving(), .end_run = saving()};
}

void SavingObserver::before(ThreadState& state, OpenCall& call) const {
    save(state, call, When::before, 0);
}

void SavingObserver::after(ThreadState& state, OpenCall& call, std::int32_t result) const {
    save(state, call, When::after, result);
}

void SavingObserver::end_run(ThreadState& state, const OpenCall& run) const {
    const SavingPart* const part = state.session->part<SavingPart>();
    Saving* const saving = part == nullptr ? nullptr : part->present();
    if (saving != nullptr) saving->end_of_run(run.run, run.has_finding);
}

}  // namespace aoti_dbg
