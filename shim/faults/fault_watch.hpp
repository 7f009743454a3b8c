// Triage, as far as it is of the program's own life: the driver is asked for a core dump of a fault when it
// has begun, and at the end it is told where that lies.
#pragma once

namespace aoti_dbg {

/// Whether the driver writes a core dump when a kernel faults, as far as it was asked by us. One of others
/// may be where nobody can read it (`lost`).
enum class DumpOfFault { not_asked, ours, of_others, lost, none };
DumpOfFault dump_of_fault();

/// After each cuInit that succeeded; the first of a process counts.
void watch_for_faults();

}  // namespace aoti_dbg
