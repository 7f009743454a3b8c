// The one list of features, in the order in which they see a call.
#include "shim/calls/call_observer.hpp"
#include "shim/check/check_observer.hpp"
#include "shim/check/race_observer.hpp"
#include "shim/measure/level_observer.hpp"
#include "shim/measure/measuring_observer.hpp"
#include "shim/tensors/lifetime_observer.hpp"

namespace aoti_dbg {

std::span<const CallObserver* const> all_call_observers() {
    static constexpr const CallObserver* kObservers[] = {
        &kLevelObserver, &kCheckObserver, &kLifetimeObserver, &kRaceObserver, &kMeasuringObserver,
    };
    return kObservers;
}

}  // namespace aoti_dbg
