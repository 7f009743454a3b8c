// See lifetime_observer.hpp.
#include "shim/tensors/lifetime_observer.hpp"

#include "shim/calls/calls.hpp"
#include "shim/calls/model_binding.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/runtime/process.hpp"
#include "shim/tensors/measured_model.hpp"
#include "shim/tensors/tensor_lifetimes.hpp"

namespace aoti_dbg {
namespace {

/// An op works on the thread's current stream, which a model can change during a run. Its tensors are ready
/// in the order of that stream.
void find_stream(OpenCall& call) {
    const ShimApi& api = call.measured->api();
    if (!call.measured->is_on_cuda()) return;
    const bool is_inspected = ordering() || call.before.any() || call.after.any();
    if (!is_inspected || api.current_stream == nullptr || call.kind == ring::CallKind::lifecycle) return;
    constexpr std::int32_t kCurrentDevice = -1;
    void* stream = nullptr;
    if (api.current_stream(kCurrentDevice, &stream) == 0)
        call.stream = reinterpret_cast<std::uintptr_t>(stream);
}

}  // namespace

CallMoments LifetimeObserver::moments() const {
    return {.before = any_feature_active(),
            .after = any_feature_active(),
            .before_hooked = false,
            .after_hooked = false};
}

void LifetimeObserver::model_loads(const LoadedObject& /*object*/, Parts& parts, Inspected& inspected) const {
    const MeasuredModel* const model = parts.find<MeasuredModel>();
    inspected.tensors = g_recording_memory && model != nullptr && model->is_on_cuda();
}

[[gnu::hot]] void LifetimeObserver::before(ThreadState& state, OpenCall& call) const {
    const StubFrame* const frame = call.passage.frame;
    if (call.measured == nullptr || (frame == nullptr && call.passage.values == nullptr)) return;
    if (call.kind == ring::CallKind::run && frame != nullptr)
        call.stream = frame->integer(5);
    else
        find_stream(call);
    // Nothing says when a Python wrapper frees its inputs. Its runs have no slot.
    if (call.kind == ring::CallKind::run && call.passage.slot != nullptr)
        note_inputs(state, *call.measured, call);
}

[[gnu::hot]] void LifetimeObserver::after(ThreadState& state, OpenCall& call, std::int32_t result) const {
    if (result == 0 && returns_tensors(call)) note_returned_tensors(state, *call.measured, call);
    if (call.kind == ring::CallKind::run) note_end_of_run(state, call, result);
}

}  // namespace aoti_dbg
