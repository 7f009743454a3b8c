// See measuring_observer.hpp.
#include "shim/measure/measuring_observer.hpp"

#include <optional>
#include <string>
#include <utility>

#include "shim/calls/calls.hpp"
#include "shim/calls/run_failure.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/measure/measuring.hpp"
#include "shim/measure/names_output.hpp"
#include "shim/runtime/process.hpp"

namespace aoti_dbg {
namespace {

void measure(ThreadState& state, const OpenCall& call, When when, const TensorRequest& request,
             std::int32_t result) {
    if (!request.measured()) return;
    if (call.kind == ring::CallKind::run) {
        const EventSide side = when == When::before ? EventSide::inputs : EventSide::outputs;
        measure_ends(state, *call.measured, call, side, request);
    } else {
        measure_call(state, *call.measured, call, when, request, result);
    }
}

/// True if level 1 keeps only runs with a finding.
bool saving_needs_findings() {
    return finding() && saving() && options().save_on == SaveOn::finding;
}
bool may_fail_runs() {
    return finding() && options().on_finding == OnFinding::raise;
}

/// A run returned, and whether it had a finding matters.
void end_found_run(ThreadState& state, OpenCall& run, std::int32_t result) {
    std::optional<std::string> sentence = take_finding(state, run);
    run.has_finding = sentence.has_value();
    if (!sentence) return;
    const bool fails = may_fail_runs() && fail_run(state, run);
    if (fails || result != 0) explain_failure(state, *std::move(sentence));
}

}  // namespace

CallMoments MeasuringObserver::moments() const {
    const bool is_on = measuring() || saving() || may_fail_runs();
    return {.skip = measuring(),
            .after = (is_on && showing()) || may_fail_runs(),
            .before_requested = is_on && showing(),
            .after_requested = is_on || finding(),
            .unwind = saving_needs_findings()};
}

/// The library does not see what the call does to memory, or what the calls of a nested run do.
void MeasuringObserver::skip(ThreadState& state, const OpenCall& call) const {
    const bool is_nested_run = call.kind == ring::CallKind::run && state.depth != 0;
    if (is_nested_run || (call.around != nullptr && call.around == state.top())) forget_measured(state);
}

[[gnu::hot]] void MeasuringObserver::before(ThreadState& state, OpenCall& call) const {
    if (call.measured == nullptr) return;
    measure(state, call, When::before, call.before, 0);
    if (call.is_unsaved) show_name(state, call, When::before);
}

[[gnu::hot]] void MeasuringObserver::after(ThreadState& state, OpenCall& call, std::int32_t result) const {
    if (call.kind == ring::CallKind::run) {
        if (result == 0 && call.measured != nullptr) measure(state, call, When::after, call.after, result);
        end_measured_run(state);
        if (may_fail_runs() || saving_needs_findings() || (result != 0 && finding()))
            end_found_run(state, call, result);
    } else if (call.measured != nullptr && call.after.any()) {
        measure(state, call, When::after, call.after, result);
        if (call.is_unsaved) show_name(state, call, When::after);
    } else if (showing() && innermost_run(state) == state.top()) {
        forget_measured(state);
    }
}

void MeasuringObserver::unwind(ThreadState& state, OpenCall& call, std::uintptr_t /*frame*/) const {
    if (call.kind == ring::CallKind::run && saving_needs_findings())
        call.has_finding = take_finding(state, call).has_value();
}

}  // namespace aoti_dbg
