// See race_observer.hpp.
#include "shim/check/race_observer.hpp"

#include "shim/calls/calls.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/check/races.hpp"
#include "shim/runtime/process.hpp"
#include "shim/runtime/slots.hpp"

namespace aoti_dbg {

CallMoments RaceObserver::moments() const {
    return {.before = ordering(), .after = ordering()};
}

[[gnu::hot]] void RaceObserver::before(ThreadState& state, OpenCall& call) const {
    if (call.measured != nullptr && call.is_own && !is_model_entry(call.kind))
        races::note_call(state, *call.measured, call, When::before);
}

[[gnu::hot]] void RaceObserver::after(ThreadState& state, OpenCall& call, std::int32_t result) const {
    const bool is_of_python =
        call.measured != nullptr && call.passage.values != nullptr && call.site != kNone;
    if (result == 0 && (is_of_python || returns_tensors(call)))
        races::note_call(state, *call.measured, call, When::after);
}

}  // namespace aoti_dbg
