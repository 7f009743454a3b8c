// See marker_observer.hpp.
#include "shim/faults/marker_observer.hpp"

#include "shim/faults/completion_markers.hpp"
#include "shim/runtime/process.hpp"

namespace aoti_dbg {

DriverKinds MarkerObserver::kinds() const {
    using enum DriverKind;
    return g_marking ? kinds_of({allocate, release_context, destroy_context, reset_device}) : 0;
}

void MarkerObserver::before(const DriverEvent& event, KeptByObserver& /*kept*/) const {
    if (event.kind != DriverKind::allocate) end_marked_context(static_cast<CUcontext>(event.context));
}

void MarkerObserver::after(const DriverEvent& event, std::int32_t result,
                           const KeptByObserver& /*kept*/) const {
    if (event.kind == DriverKind::allocate) note_unrecorded_result(result);
}

}  // namespace aoti_dbg
