// The part of triage that runs in the program's process. It requests a core dump from the driver after the
// driver's start, so that the process can report at exit where the dump is.
#pragma once

namespace aoti_dbg {

/// Whether the driver writes a core dump when a kernel faults, and who requested it. Reports may be unable to
/// read a dump that others requested (`lost`).
enum class DumpOfFault { not_asked, ours, of_others, lost, none };
DumpOfFault dump_of_fault();

/// Call this after each successful cuInit. The first one in a process counts.
void watch_for_faults();

}  // namespace aoti_dbg
