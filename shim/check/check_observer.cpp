// See check_observer.hpp.
#include "shim/check/check_observer.hpp"

#include <memory>

#include "shim/calls/calls.hpp"
#include "shim/calls/model_binding.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/check/checks.hpp"
#include "shim/check/model_checks.hpp"
#include "shim/check/wrapper_checks.hpp"
#include "shim/runtime/process.hpp"
#include "shim/tensors/measured_model.hpp"

namespace aoti_dbg {

CallMoments CheckObserver::moments() const {
    return {.before = checking(), .after = checking(), .unwind = checking(), .after_hooked = false};
}

void CheckObserver::model_loads(const LoadedObject& /*object*/, Parts& parts, Inspected& inspected) const {
    MeasuredModel* const model = parts.find<MeasuredModel>();
    if (model == nullptr) return;
    ModelChecks& checks = model->parts().add(std::make_unique<ModelChecks>(model->info()));
    checks.plan_launches(model->sites());
    inspected.views = checking();
}

[[gnu::hot]] void CheckObserver::before(ThreadState& state, OpenCall& call) const {
    if (call.kind == ring::CallKind::run) check_run(state, call.measured, call);
    if (call.measured == nullptr) return;
    if (call.passage.parameters != nullptr) check_launch(state, *call.measured, call);
    if (call.passage.values != nullptr) check_passed(state, *call.measured, call);
}

[[gnu::hot]] void CheckObserver::after(ThreadState& state, OpenCall& call, std::int32_t result) const {
    if (result != 0 || is_model_entry(call.kind)) check_result(state, call.measured, call, result);
}

void CheckObserver::unwind(ThreadState& state, OpenCall& call, std::uintptr_t frame) const {
    const PassedValues* const passed = call.passage.values;
    if (passed == nullptr || !passed->is_interrupted) check_unwound(state, frame);
}

}  // namespace aoti_dbg
