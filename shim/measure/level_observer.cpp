// See level_observer.hpp.
#include "shim/measure/level_observer.hpp"

#include "config/selection.hpp"
#include "shim/calls/calls.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/measure/names_output.hpp"
#include "shim/runtime/process.hpp"
#include "shim/tensors/call_tensors.hpp"
#include "shim/tensors/measured_model.hpp"

namespace aoti_dbg {
namespace {

/// `able` means that the call's tensors can be measured or saved. If a level cannot do that, the name is
/// printed instead.
TensorRequest request_of(const Levels& levels, const Check& check, bool able) {
    if (!able) return {.named = levels.any()};
    return {levels.stats, check, levels.files, levels.names};
}

/// The request for the inputs or the outputs of a run. PyTorch's filter does not apply to the inputs, so the
/// kernel filter does not apply here.
TensorRequest request_at_end(std::uint32_t run, Side other_side) {
    if (!may_select_run(options(), run)) return {};
    const Levels& levels = options().levels;
    const bool is_requested = options().side != other_side;
    return {levels.stats && is_requested, options().check.value_or(default_check(options(), levels)),
            levels.files && is_requested};
}

}  // namespace

CallMoments LevelObserver::moments() const {
    return {.before_requested = showing(), .after_requested = showing()};
}

[[gnu::hot]] void LevelObserver::before(ThreadState& state, OpenCall& call) const {
    if (call.kind == ring::CallKind::run) {
        if (!call.passage.has_ends()) return;
        call.before = request_at_end(call.run, Side::after);
        call.after = request_at_end(call.run, Side::before);
        return;
    }
    if (!any_feature_active()) {
        call.before.named = call.sides.before.any();
        call.after.named = call.sides.after.any();
        if (call.before.named) show_name(state, call, When::before);
        return;
    }
    // Outside of a run, the stream on which a device's tensors are ready is unknown.
    const bool measurable =
        call.measured != nullptr && (call.around != nullptr || !call.measured->is_on_cuda());
    const bool able = measurable && has_arguments(call.passage);
    call.before = request_of(call.sides.before, call.sides.check, able);
    call.after = request_of(call.sides.after, call.sides.check, able);
    if (call.before.named) show_name(state, call, When::before);
}

[[gnu::hot]] void LevelObserver::after(ThreadState& state, OpenCall& call, std::int32_t /*result*/) const {
    if (call.after.named) show_name(state, call, When::after);
}

}  // namespace aoti_dbg
