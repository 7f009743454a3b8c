// Watches for hangs (AOTI_DBG_HANG), from a thread of ours. It knows of the device only what the program's
// own calls tell, and asks the driver nothing: so it disturbs no capture.
//
// A thread hangs that is inside of a call and has made no step, begun or ended no call, for so long; and one
// that asks the device again and again, and gets no other answer than "not ready", while no thread of the
// process makes a step. Where launches have completion markers, so does a launch that does not end while
// nothing else does, and no thread is inside of a call that waits (stalled_streams). A call that was left by
// an exception, which its thread notices at its next call only, is none that it is inside of: told by where
// its stack stands (unwound_calls). Time counts only as this thread sees it go by: not while the process is
// stopped.
#pragma once

namespace aoti_dbg {

class Session;

/// Starts the thread where the options ask for it and `session` has a ring to read.
void watch_for_hangs(Session& session);

}  // namespace aoti_dbg
