// Maintains the allocation map from driver calls: memory that is allocated, freed and refused. Call it only
// with AOTI_DBG_TRIAGE. It must not throw or change errno. It queries the driver only for the current
// context, and right after a refusal for the amount of memory.
#pragma once

#include <cstdint>

#include "serializer/allocation_format.hpp"
#include "shim/calls/driver_event.hpp"

namespace aoti_dbg {

class Session;

/// Gives the session a map of allocations next to the ring, if the options request it.
void start_allocations(Session& session);

struct AskedMemory {
    allocations::Way way;
    std::uint64_t bytes;
    const void* stream = nullptr;  // for a stream-ordered allocation
    std::int32_t device = kCurrentDevice;
};

/// Records an allocation at `address`, or 0 if it has no address yet.
void note_allocation(const AskedMemory& asked, std::uint64_t address);
/// Records that the driver had not enough memory.
void note_refused(const AskedMemory& asked);

/// Memory that is being freed.
struct LeavingMemory;
/// Call this before memory is freed. `bytes` is the size of mapped memory, whose pieces are freed together.
/// Returns null if the map has no such memory, else what end_leaving() needs.
LeavingMemory* take_leaving(allocations::Way way, std::uint64_t address, std::uint64_t bytes,
                            const void* stream);
/// Call this after the driver has freed the memory, or refused to.
void end_leaving(LeavingMemory* leaving, bool is_freed);

/// Call these before a context, or everything on a device, is destroyed.
void note_context_destroyed(const void* context);
void note_device_reset(int device);

}  // namespace aoti_dbg
