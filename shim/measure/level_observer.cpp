// See level_observer.hpp.
#include "shim/measure/level_observer.hpp"

#include "shim/calls/calls.hpp"
#include "shim/calls/models.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/measure/measuring.hpp"
#include "shim/measure/names_output.hpp"
#include "shim/runtime/process.hpp"
#include "shim/tensors/measured_model.hpp"

namespace aoti_dbg {
namespace {

/// `able` means that the call's tensors can be measured or saved. If a level cannot do that, the name is
/// printed instead.
TensorRequest request_of(const Levels& levels, const Check& check, bool able) {
    TensorRequest tensors = {levels.stats && able, able ? check : Check{}, levels.files && able};
    tensors.named = levels.names || levels.stats != tensors.printed || levels.files != tensors.saved;
    return tensors;
}

}  // namespace

CallMoments LevelObserver::moments() const {
    return {.identify = any_feature_active(), .before = showing(), .after = showing()};
}

[[gnu::hot]] void LevelObserver::identify(ThreadState& state, OpenCall& call) const {
    if (!call.passage.any()) return;
    call.measured = measured_model(call.model);
    // The order of calls determines the sites, so unselected calls count too.
    if (call.measured != nullptr && call.is_own && !is_model_entry(call.kind) && call.around != nullptr)
        call.site = match_site(state, *call.measured, call.model, call.run, *call.name, call.passage);
}

[[gnu::hot]] void LevelObserver::before(ThreadState& state, OpenCall& call) const {
    // Outside of a run, the stream on which a device's tensors are ready is unknown.
    const bool measurable =
        call.measured != nullptr && (call.around != nullptr || !call.measured->is_on_cuda());
    const bool able = measurable && has_arguments(call.passage);
    call.before = request_of(call.sides.before, call.sides.check, able);
    call.after = request_of(call.sides.after, call.sides.check, able);
    if (call.before.named) show_name(state, call, When::before);
}

[[gnu::hot]] void LevelObserver::after(ThreadState& state, const OpenCall& call,
                                       std::int32_t /*result*/) const {
    if (call.after.named) show_name(state, call, When::after);
}

}  // namespace aoti_dbg
