// See measuring_observer.hpp.
#include "shim/measure/measuring_observer.hpp"

#include "config/selection.hpp"
#include "shim/calls/calls.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/measure/measuring.hpp"
#include "shim/runtime/process.hpp"

namespace aoti_dbg {
namespace {

/// The request for the inputs or the outputs of a run. PyTorch's filter does not apply to the inputs, so the
/// kernel filter does not apply here.
TensorRequest request_at_end(std::uint32_t run, Side other_side) {
    if (!showing() || !may_select_run(options(), run)) return {};
    const Levels& levels = options().levels;
    const bool is_requested = options().side != other_side;
    return {levels.stats && is_requested, options().check.value_or(default_check(options(), levels)),
            levels.files && is_requested};
}

void measure_end(ThreadState& state, const OpenCall& run, EventSide side, Side other_side) {
    if (run.measured == nullptr) return;
    if (const TensorRequest wanted = request_at_end(run.run, other_side); wanted.any())
        measure_ends(state, *run.measured, run, side, wanted);
}

}  // namespace

CallMoments MeasuringObserver::moments() const {
    const bool is_on = any_feature_active();
    return {.skip = measuring(), .before = is_on && showing(), .after = is_on, .unwind = is_on};
}

/// The library does not see what the call does to memory.
void MeasuringObserver::skip(ThreadState& state, const OpenCall& call) const {
    if (call.around != nullptr && call.around == state.top()) forget_measured(state);
}

[[gnu::hot]] void MeasuringObserver::before(ThreadState& state, OpenCall& call) const {
    if (call.measured == nullptr) return;
    if (call.kind == ring::CallKind::run) measure_end(state, call, EventSide::inputs, Side::after);
    if (call.before.any()) measure_call(state, *call.measured, call, When::before, call.before, 0);
}

[[gnu::hot]] void MeasuringObserver::after(ThreadState& state, const OpenCall& call,
                                           std::int32_t result) const {
    if (call.kind == ring::CallKind::run) {
        if (result == 0) measure_end(state, call, EventSide::outputs, Side::before);
        end_measured_run(state, call);
    } else if (call.measured != nullptr && call.after.any()) {
        measure_call(state, *call.measured, call, When::after, call.after, result);
    } else if (showing() && innermost_run(state) == state.top()) {
        forget_measured(state);
    }
}

void MeasuringObserver::unwind(ThreadState& state, const OpenCall& call, std::uintptr_t /*frame*/) const {
    if (call.kind == ring::CallKind::run) end_unwound_run(state, call);
}

}  // namespace aoti_dbg
