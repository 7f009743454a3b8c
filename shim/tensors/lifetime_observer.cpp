// See lifetime_observer.hpp.
#include "shim/tensors/lifetime_observer.hpp"

#include "shim/calls/calls.hpp"
#include "shim/calls/model_binding.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/runtime/process.hpp"
#include "shim/tensors/measured_model.hpp"
#include "shim/tensors/tensor_lifetimes.hpp"

namespace aoti_dbg {

CallMoments LifetimeObserver::moments() const {
    return {.before = any_feature_active(), .after = any_feature_active()};
}

void LifetimeObserver::model_loads(const LoadedObject& /*object*/, Parts& parts, Inspected& inspected) const {
    const MeasuredModel* const model = parts.find<MeasuredModel>();
    inspected.tensors = g_recording_memory && model != nullptr && model->is_on_cuda();
}

void LifetimeObserver::before(ThreadState& state, OpenCall& call) const {
    const StubFrame* const frame = call.passage.frame;
    if (call.kind != ring::CallKind::run || call.measured == nullptr || frame == nullptr) return;
    call.stream = frame->integer(5);
    const auto* const inputs = reinterpret_cast<const TensorHandle*>(frame->integer(1));
    note_inputs(state, *call.measured, call, inputs, frame->integer(2));
}

[[gnu::hot]] void LifetimeObserver::after(ThreadState& state, OpenCall& call, std::int32_t result) const {
    if (result == 0 && returns_tensors(call)) note_returned_tensors(state, *call.measured, call);
    if (call.kind == ring::CallKind::run) note_end_of_run(state, call, result);
}

}  // namespace aoti_dbg
