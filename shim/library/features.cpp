// The one list of features, in the order in which they see a call, start with a session and finish with it.
#include "shim/calls/call_observer.hpp"
#include "shim/calls/driver_observer.hpp"
#include "shim/calls/session_part.hpp"
#include "shim/capture/capture_observer.hpp"
#include "shim/capture/capture_part.hpp"
#include "shim/capture/ended_context_observer.hpp"
#include "shim/check/check_observer.hpp"
#include "shim/check/checks.hpp"
#include "shim/check/race_driver_observer.hpp"
#include "shim/check/race_observer.hpp"
#include "shim/faults/allocation_observer.hpp"
#include "shim/faults/allocations.hpp"
#include "shim/faults/driver_log.hpp"
#include "shim/faults/fault_part.hpp"
#include "shim/faults/hang_watch.hpp"
#include "shim/faults/launch_count_observer.hpp"
#include "shim/faults/marker_observer.hpp"
#include "shim/faults/markers_part.hpp"
#include "shim/faults/wait_observer.hpp"
#include "shim/library/kept_captures.hpp"
#include "shim/measure/level_observer.hpp"
#include "shim/measure/measurer.hpp"
#include "shim/measure/measuring_observer.hpp"
#include "shim/measure/pending_observer.hpp"
#include "shim/save/saving_observer.hpp"
#include "shim/save/saving_part.hpp"
#include "shim/tensors/call_identifier.hpp"
#include "shim/tensors/lifetime_observer.hpp"
#include "shim/tensors/tensor_lifetimes.hpp"
#include "shim/timeline/timeline_observer.hpp"
#include "shim/timeline/timeline_part.hpp"

namespace aoti_dbg {

std::span<const CallObserver* const> all_call_observers() {
    static constexpr const CallObserver* kObservers[] = {
        &kCallIdentifier, &kLevelObserver,     &kCheckObserver,   &kLifetimeObserver, &kRaceObserver,
        &kSavingObserver, &kMeasuringObserver, &kCaptureObserver, &kTimelineObserver,
    };
    return kObservers;
}

// Recorded waits are last, so that a record begins and ends right at the real call.
std::span<const DriverObserver* const> all_driver_observers() {
    static constexpr const DriverObserver* kObservers[] = {
        &kPendingObserver,    &kRaceDriverObserver,   &kLaunchCountObserver, &kMarkerObserver,
        &kAllocationObserver, &kEndedContextObserver, &kWaitObserver,
    };
    return kObservers;
}

// At exit, saving finishes first: it counts interrupts, and it may have the most to write.
void start_session_parts(Session& session) {
    static constexpr void (*kStarts[])(Session&) = {
        start_saving,     start_capture,    start_measuring,   start_checks,
        start_markers,    start_tensor_map, start_allocations, start_driver_log,
        start_fault_part, watch_for_hangs,  connect_capture,   start_timeline,
    };
    for (const auto start : kStarts)
        start(session);
}

}  // namespace aoti_dbg
