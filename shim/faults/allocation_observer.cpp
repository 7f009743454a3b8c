// See allocation_observer.hpp.
#include "shim/faults/allocation_observer.hpp"

#include <cstring>

#include "shim/faults/allocations.hpp"
#include "shim/runtime/driver_api.hpp"
#include "shim/runtime/process.hpp"

namespace aoti_dbg {
namespace {

/// Returns the size once the driver has succeeded.
std::uint64_t bytes_of(const DriverEvent& event, std::uint64_t address) {
    const AllocatedMemory& memory = event.allocated;
    if (event.way == allocations::Way::open_ipc) return allocation_bytes(address);
    return memory.pitch == nullptr ? memory.bytes : *memory.pitch * memory.rows;
}

void note_allocated(const DriverEvent& event, std::int32_t result) {
    AskedMemory asked{event.way, event.allocated.bytes, event.stream, event.allocated.device};
    if (result == CUDA_ERROR_OUT_OF_MEMORY && event.way != allocations::Way::open_ipc) note_refused(asked);
    if (result != CUDA_SUCCESS || event.allocated.address == nullptr) return;
    std::uint64_t address = 0;
    memcpy(&address, event.allocated.address, sizeof address);
    asked.bytes = bytes_of(event, address);
    note_allocation(asked, address);
}

}  // namespace

DriverKinds AllocationObserver::kinds() const {
    using enum DriverKind;
    return g_recording_memory ? kinds_of({allocate, free, free_host, destroy_context, reset_device}) : 0;
}

void AllocationObserver::before(const DriverEvent& event, KeptByObserver& kept) const {
    switch (event.kind) {
        case DriverKind::free:
        case DriverKind::free_host:
            kept.pointer = take_leaving(event.way, event.freed.address, event.freed.bytes, event.stream);
            return;
        case DriverKind::destroy_context:
            return note_context_destroyed(event.context);
        case DriverKind::reset_device:
            return note_device_reset(event.device);
        default:
            return;
    }
}

void AllocationObserver::after(const DriverEvent& event, std::int32_t result,
                               const KeptByObserver& kept) const {
    if (event.kind == DriverKind::allocate) note_allocated(event, result);
    if (kept.pointer != nullptr)
        end_leaving(static_cast<LeavingMemory*>(kept.pointer), result == CUDA_SUCCESS);
}

}  // namespace aoti_dbg
