// Reports a failure in a process without a flight recorder ring. It counts the failure for `aoti-dbg run`
// (runtime/tally) and prints a warning.
#pragma once

#include <cstdint>

namespace aoti_dbg {

/// Call this when a driver call returned `error`. Does nothing unless the error ends the context and the
/// process has a session without a ring.
void note_unrecorded_failure(std::int32_t error);

}  // namespace aoti_dbg
