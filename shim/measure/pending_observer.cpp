// See pending_observer.hpp.
// Some calls change memory. Others reveal how far a stream is (an event, a callback, a query that returns
// "done"), or make a stream wait for others. If a tensor is measured later than that, other code may already
// have overwritten it.
#include "shim/measure/pending_observer.hpp"

#include "shim/measure/pending.hpp"
#include "shim/runtime/process.hpp"

namespace aoti_dbg {

// Programs query events often while they allocate memory, and the query shows nothing that the record of the
// event did not launch.
DriverKinds PendingObserver::kinds() const {
    if (!measuring() && !saving()) return 0;
    using enum DriverKind;
    return ~kinds_of({query_event, allocate, free_host});
}

const std::atomic<std::uint32_t>* PendingObserver::tasks() const {
    return &g_pending_points;
}

void PendingObserver::before(const DriverEvent& event, KeptByObserver& /*kept*/) const {
    switch (event.kind) {
        // These do not move the stream. A wait for the event covers what was launched when it was recorded.
        case DriverKind::record_event:
        case DriverKind::query:
            return send_if_pending_of(event.stream);
        // The call is recorded, and its tensors have joined the measurements that wait.
        case DriverKind::launch:
            if (g_pending_points.load(std::memory_order_relaxed) == 0 || lets_pending_wait(event.stream))
                return;
            return flush_pending_of(event.stream);
        case DriverKind::launch_graph:
            return flush_if_pending_of(event.stream);
        case DriverKind::release_context:
            return flush_if_pending();
        // The session passes these to the measurer.
        case DriverKind::destroy_context:
        case DriverKind::reset_device:
            return;
        // AOTInductor's container waits until an earlier run of the same model has ended (after()).
        case DriverKind::synchronize_event:
            if (is_before_first_call()) return;
            break;
        default:
            if (event.concerns_all)
                flush_if_pending();
            else
                flush_if_pending_of(event.stream);
    }
    if (g_measuring) note_unseen_work();
}

// The earlier run may write memory that this run gets as input, on another stream. A measurement that was
// launched during the wait, or before it, may have come too early.
void PendingObserver::after(const DriverEvent& /*event*/, std::int32_t /*result*/,
                            const KeptByObserver& /*kept*/) const {
    if (g_measuring && is_before_first_call()) forget_launched();
}

}  // namespace aoti_dbg
