#include "shim/calls/call_observer.hpp"

namespace aoti_dbg {

constinit ActiveObservers g_active_observers;

// These are not inline, so that a call of an observer is not compared with them first.
void CallObserver::identify(ThreadState& /*state*/, OpenCall& /*call*/) const {}
void CallObserver::skip(ThreadState& /*state*/, const OpenCall& /*call*/) const {}
void CallObserver::before(ThreadState& /*state*/, OpenCall& /*call*/) const {}
void CallObserver::after(ThreadState& /*state*/, OpenCall& /*call*/, std::int32_t /*result*/) const {}

// A session starts before any call, under the session lock. In a forked child, the first session finds the
// same observers again, because the options never change.
void activate_call_observers() {
    ActiveObservers active;
    for (const CallObserver* const observer : all_call_observers()) {
        const CallMoments moments = observer->moments();
        if (moments.identify) active.identify.add(observer);
        if (moments.skip) active.skip.add(observer);
        if (moments.before || moments.before_requested) active.before.add(observer);
        if (moments.before) active.before_unrequested.add(observer);
        if (moments.before && moments.before_hooked) active.before_hooked.add(observer);
        if (moments.after || moments.after_requested) active.after.add(observer);
        if (moments.after) active.after_unrequested.add(observer);
        if (moments.after && moments.after_hooked) active.after_hooked.add(observer);
        if (moments.unwind) active.unwind.add(observer);
        if (moments.end_run) active.end_run.add(observer);
    }
    active.describes_early = !active.identify.empty() || !active.skip.empty();
    g_active_observers = active;
}

}  // namespace aoti_dbg
