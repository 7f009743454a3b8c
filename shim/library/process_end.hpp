// What the library does at the exit of the process.
#pragma once

namespace aoti_dbg {

/// Ends the session: closes the log and the ring and prints the coverage. Runs at exit, including _exit.
/// Later calls are not recorded. Does nothing in the child of a vfork, which shares its parent's memory.
void end_process();
}  // namespace aoti_dbg
