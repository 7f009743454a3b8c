// See wait_observer.hpp.
#include "shim/faults/wait_observer.hpp"

#include "shim/faults/driver_waits.hpp"
#include "shim/runtime/process.hpp"

namespace aoti_dbg {
namespace {

bool is_query(const DriverEvent& event) {
    return event.kind == DriverKind::query || event.kind == DriverKind::query_event;
}

}  // namespace

DriverKinds WaitObserver::kinds() const {
    using enum DriverKind;
    if (!g_recording_waits) return 0;
    return kinds_of({access, free, record_event, query, query_event, synchronize, synchronize_event});
}

void WaitObserver::before(const DriverEvent& event, KeptByObserver& kept) const {
    if (event.kind == DriverKind::record_event)
        return note_event_recorded(reinterpret_cast<std::uintptr_t>(event.event),
                                   reinterpret_cast<std::uintptr_t>(event.stream));
    if (!event.awaited || is_query(event)) return;
    const RecordedWait wait = begin_wait(event.hook, *event.awaited);
    kept = {wait.record, wait.seq};
}

void WaitObserver::after(const DriverEvent& event, std::int32_t result, const KeptByObserver& kept) const {
    if (!event.awaited) return;
    if (is_query(event)) return note_answer(event.hook, *event.awaited, result);
    end_wait({static_cast<ring::Record*>(kept.pointer), kept.number}, result);
}

}  // namespace aoti_dbg
