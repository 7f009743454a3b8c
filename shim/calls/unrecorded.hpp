// What is known of a failure though the process has no flight ring: it is counted for whoever waits for the
// program (runtime/tally), and said.
#pragma once

#include <cstdint>

namespace aoti_dbg {

/// A call of the driver's has returned that. Nothing, unless its context does not survive it and the process
/// has a session without a ring.
void note_unrecorded_failure(std::int32_t error);

}  // namespace aoti_dbg
