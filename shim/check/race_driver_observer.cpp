// See race_driver_observer.hpp.
#include "shim/check/race_driver_observer.hpp"

#include <cuda.h>

#include "shim/check/races.hpp"
#include "shim/runtime/process.hpp"

namespace aoti_dbg {
namespace {

void note_access(const DriverEvent& event) {
    races::note_copied(hook_name(event.hook), event.stream,
                       event.memory.is_between_peers ? CopyRanges{} : event.memory);
    if (event.waits_if_pageable && !event.awaited && races::is_waited_for(event.target))
        races::note_callback(event.stream);
}

void note_freed(const DriverEvent& event) {
    switch (event.way) {
        case allocations::Way::free_async:
            return races::note_freed(hook_name(event.hook), event.freed.address, event.stream);
        case allocations::Way::unmap:
            return races::note_unmapped(event.freed.address, event.freed.bytes);
        default:
            return races::note_freed_at_once(event.freed.address);
    }
}

/// A launch records its events somewhere inside its kernel, so their order is unknown.
void note_events_of(const CUlaunchConfig& config) {
    for (unsigned i = 0; i < config.numAttrs; ++i) {
        const CUlaunchAttribute& attribute = config.attrs[i];
        if (attribute.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT)
            races::note_unseen_event(attribute.value.programmaticEvent.event);
#if CUDA_VERSION >= 12030
        if (attribute.id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT)
            races::note_unseen_event(attribute.value.launchCompletionEvent.event);
#endif
    }
}

}  // namespace

DriverKinds RaceDriverObserver::kinds() const {
    using enum DriverKind;
    return ordering() ? ~kinds_of({allocate, free_host, trim_pool}) : 0;
}

void RaceDriverObserver::before(const DriverEvent& event, KeptByObserver& /*kept*/) const {
    switch (event.kind) {
        case DriverKind::access:
            return note_access(event);
        case DriverKind::launch:
            if (event.launch != nullptr) note_events_of(*event.launch);
            return races::note_work(event.stream);
        case DriverKind::work:
            return races::note_work(event.stream);
        case DriverKind::launch_graph:
            return races::note_graph(event.stream);
        case DriverKind::gate:
            return races::note_unseen_wait(event.stream);
        case DriverKind::gate_by_event:
            return races::note_waits(event.stream, event.event);
        case DriverKind::signal:
            return races::note_callback(event.stream);
        case DriverKind::gate_and_signal:
            races::note_unseen_wait(event.stream);
            return races::note_callback(event.stream);
        case DriverKind::record_event:
            return races::note_recorded(event.event, event.stream);
        case DriverKind::free:
            return note_freed(event);
        case DriverKind::destroy_stream:
            return races::note_destroyed(event.stream);
        case DriverKind::release_context:
        case DriverKind::destroy_context:
        case DriverKind::reset_device:
            return races::note_context_ends();
        default:
            return;
    }
}

// Work that the host waited for, or that a query reported as done, precedes everything that the host does
// next.
void RaceDriverObserver::after(const DriverEvent& event, std::int32_t result,
                               const KeptByObserver& /*kept*/) const {
    if (result != CUDA_SUCCESS || !event.awaited) return;
    // A copy to pinned memory may not have waited.
    if (event.waits_if_pageable && !races::is_waited_for(event.target)) return;
    races::note_waited(*event.awaited);
}

}  // namespace aoti_dbg
