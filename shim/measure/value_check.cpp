#include "shim/measure/value_check.hpp"

#include "shim/calls/skipped_runs.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/measure/measuring_thread.hpp"
#include "shim/tensors/call_tensors.hpp"
#include "shim/tensors/measured_model.hpp"
#include "stats_kernels/float_state.hpp"

namespace aoti_dbg {
namespace {

bool is_scalar(const CallArgument& argument) {
    return argument.kind == CallArgument::Kind::scalar;
}

/// The memory that the call may write must be known, because other measurements of it may wait.
void look_up_written(CallTensors& own, const MeasuredModel& model, When when) {
    for (std::size_t i = 0; i < own.found.size(); ++i) {
        const bool exists = when == When::after || !own.found[i].only_after;
        if (own.found[i].may_write && exists && own.tensors[i].facts == nullptr) look_up(own, model, i);
    }
}

/// An update may copy new contents to the same memory, so every function of a container counts as a change.
/// Both numbers only grow, and so does their sum.
ConstantsOwner owner_of_constants(const MeasuredModel& model, const OpenCall& call) {
    const OpenCall* const run = call.around;
    const bool is_known = run != nullptr && run->passage.has_ends() && run->passage.frame != nullptr;
    return {is_known ? run->passage.frame->integer(0) : 0, model.constants_changed() + container_changes()};
}

void add_before(MeasuredSide& side, CallTensors& own, const MeasuredModel& model, const ConstantsOwner& owner,
                std::size_t i) {
    const CallArgument& argument = own.found[i];
    const PlannedArgument& facts = *argument.facts;
    if (is_scalar(argument) || argument.only_after || facts.role == Role::makes) return;
    if (facts.role == Role::writes) {
        // The call replaces these contents, so it matters only whether they are known to have NaN.
        if (own.tensors[i].facts != nullptr) side.add_if_known(facts, own.tensors[i]);
        return;
    }
    const bool is_kept = facts.is_fixed && !argument.may_write && !are_weights_shared();
    if (is_kept && side.add_if_kept(facts, owner)) return;
    if (side.add_if_named(facts)) return;
    if (own.tensors[i].facts == nullptr) look_up(own, model, i);
    if (own.tensors[i].facts == nullptr) return;
    side.add_tensor(facts, own.tensors[i]);
    if (is_kept) side.keep_constant(facts, own.tensors[i], owner);
}

}  // namespace

bool check_before(ThreadState& state, const MeasuredModel& model, const OpenCall& call,
                  const TensorRequest& requested) {
    const SitePlan* const plan = model.site(call.site);
    if (plan == nullptr || !model.is_on_cuda()) return false;
    const DefaultFloatState float_state;
    CallTensors& own = tensors_of(state);
    decode_arguments(own, model, call, When::before);
    look_up_written(own, model, When::before);
    StreamPoint* const point = move_to_point_of(state, call);
    MeasuringThread& thread = measuring_part(state);
    MeasuredSide side(thread.side, measurer_of(state), model.api(), call, requested);
    if (point == nullptr || !side.at(*point)) return true;
    const ConstantsOwner owner = owner_of_constants(model, call);
    for (std::size_t i = 0; i < own.found.size(); ++i)
        add_before(side, own, model, owner, i);
    const MeasuredSide::Next next = next_at(plan, own, *point);
    thread.passing = next == MeasuredSide::Next::passing ? call.mark.get() : 0;
    side.keep(next);
    return true;
}

bool check_after(ThreadState& state, const MeasuredModel& model, const OpenCall& call,
                 const TensorRequest& requested, std::int32_t result) {
    MeasuringThread& thread = measuring_part(state);
    if (thread.side.unreported_of != call.mark) return false;
    const DefaultFloatState float_state;
    CallTensors& own = tensors_of(state);
    decode_arguments(own, model, call, When::after);
    look_up_written(own, model, When::after);
    MeasuredSide side(thread.side, measurer_of(state), model.api(), call, requested);
    if (!side.at(*thread.point, false)) return true;
    MeasuredCall& event = describe(state, call, EventSide::after);
    event.site = &site_facts(&model, call);
    event.result = result;
    note_written(side, own);
    if (result != 0 || moves_tensors(call)) side.note_unknown_write();
    for (std::size_t i = 0; i < own.found.size(); ++i) {
        if (is_scalar(own.found[i]))
            side.add_scalar(own.found[i]);
        else if (own.found[i].may_write && has_tensor(own, i, When::after, result))
            side.add_tensor(*own.found[i].facts, own.tensors[i]);
    }
    side.report_both();
    return true;
}

}  // namespace aoti_dbg
