// The end of the process, as the library lives through it.
#pragma once

namespace aoti_dbg {

/// Ends the session: the log and the ring are closed in good order and the coverage is said. Called at exit,
/// also by _exit. Later calls are not recorded. Does nothing in the child of a vfork, whose memory is its
/// parent's.
void end_process();
}  // namespace aoti_dbg
