// See release_observer.hpp.
#include "shim/timeline/release_observer.hpp"

#include "shim/calls/session.hpp"
#include "shim/runtime/process.hpp"
#include "shim/timeline/timeline_part.hpp"

namespace aoti_dbg {

DriverKinds ReleaseObserver::kinds() const {
    return options().timeline ? kinds_of({DriverKind::release_context}) : 0;
}

void ReleaseObserver::before(const DriverEvent& event, KeptByObserver& /*kept*/) const {
    const Session* const session = wiped_page().session.load(std::memory_order_acquire);
    const TimelinePart* const part = session == nullptr ? nullptr : session->part<TimelinePart>();
    MarkerRecorder* const markers = part == nullptr ? nullptr : part->markers();
    if (markers != nullptr) markers->context_may_end(event.device);
}

}  // namespace aoti_dbg
