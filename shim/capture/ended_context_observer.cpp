// See ended_context_observer.hpp.
#include "shim/capture/ended_context_observer.hpp"

#include "shim/runtime/ended_context.hpp"
#include "shim/runtime/process.hpp"

namespace aoti_dbg {

DriverKinds EndedContextObserver::kinds() const {
    using enum DriverKind;
    if (options().capture_on != CaptureOn::fault) return 0;
    watch_for_ended_context();
    return kinds_of({access, record_event, query, query_event, synchronize, synchronize_event, allocate, free,
                     launch, launch_graph});
}

void EndedContextObserver::after(const DriverEvent& /*event*/, std::int32_t result,
                                 const KeptByObserver& /*kept*/) const {
    if (result != 0) note_context_error(result);
}

}  // namespace aoti_dbg
