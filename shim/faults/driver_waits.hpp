// Driver calls that wait for the device or query it. They go into the flight recorder ring, which then shows
// waits that did not return. Waits that returned show what has finished on the device. The only driver query
// here asks for a context. Call these only if crashes or hangs are recorded (Options::records_all).
#pragma once

#include <cstdint>

#include "serializer/flight_ring_format.hpp"
#include "shim/calls/driver_event.hpp"

namespace aoti_dbg {

/// A wait on record, in the calling thread's ring.
struct RecordedWait {
    ring::Record* record = nullptr;  // null: the wait is not on record
    std::uint64_t seq = 0;
};

/// Records that the calling thread is about to wait.
RecordedWait begin_wait(Hook hook, const Awaited& awaited);
void end_wait(const RecordedWait& wait, std::int32_t result);

/// Call this when `event` is about to be recorded on `stream`.
void note_event_recorded(std::uint64_t event, std::uint64_t stream);
/// Records the answer to a query of the device's progress.
void note_answer(Hook hook, Awaited awaited, std::int32_t result);

}  // namespace aoti_dbg
