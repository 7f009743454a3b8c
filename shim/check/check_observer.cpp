// See check_observer.hpp.
#include "shim/check/check_observer.hpp"

#include "shim/calls/calls.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/check/checks.hpp"
#include "shim/runtime/process.hpp"

namespace aoti_dbg {

CallMoments CheckObserver::moments() const {
    return {.before = checking(), .after = checking(), .unwind = checking()};
}

[[gnu::hot]] void CheckObserver::before(ThreadState& state, OpenCall& call) const {
    if (call.kind == ring::CallKind::run) check_run(state, call.measured, call);
    if (call.measured != nullptr && call.passage.parameters != nullptr)
        check_launch(state, *call.measured, call);
}

[[gnu::hot]] void CheckObserver::after(ThreadState& state, const OpenCall& call, std::int32_t result) const {
    if (result != 0 || is_model_entry(call.kind)) check_result(state, call.measured, call, result);
}

void CheckObserver::unwind(ThreadState& state, const OpenCall& /*call*/, std::uintptr_t frame) const {
    check_unwound(state, frame);
}

}  // namespace aoti_dbg
