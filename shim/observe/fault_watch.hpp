// Triage, as far as it is of the program's own life: the driver is asked for a core dump of a fault when it
// has begun, and at the end it is told where that lies.
#pragma once

namespace aoti_dbg {

/// After each cuInit that succeeded; the first of a process counts.
void watch_for_faults();

}  // namespace aoti_dbg
