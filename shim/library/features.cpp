// The lists of features, each in the order in which they see a call.
#include "shim/calls/call_observer.hpp"
#include "shim/calls/driver_observer.hpp"
#include "shim/check/check_observer.hpp"
#include "shim/check/race_driver_observer.hpp"
#include "shim/check/race_observer.hpp"
#include "shim/faults/allocation_observer.hpp"
#include "shim/faults/launch_count_observer.hpp"
#include "shim/faults/marker_observer.hpp"
#include "shim/faults/wait_observer.hpp"
#include "shim/measure/level_observer.hpp"
#include "shim/measure/measuring_observer.hpp"
#include "shim/measure/pending_observer.hpp"
#include "shim/tensors/lifetime_observer.hpp"

namespace aoti_dbg {

std::span<const CallObserver* const> all_call_observers() {
    static constexpr const CallObserver* kObservers[] = {
        &kLevelObserver, &kCheckObserver, &kLifetimeObserver, &kRaceObserver, &kMeasuringObserver,
    };
    return kObservers;
}

// Recorded waits are last, so that a record begins and ends right at the real call.
std::span<const DriverObserver* const> all_driver_observers() {
    static constexpr const DriverObserver* kObservers[] = {
        &kPendingObserver, &kRaceDriverObserver, &kLaunchCountObserver,
        &kMarkerObserver,  &kAllocationObserver, &kWaitObserver,
    };
    return kObservers;
}

}  // namespace aoti_dbg
