// Detects hangs (AOTI_DBG_HANG) in a thread of the library. It knows the device only through the program's
// own calls. It must not call the driver to detect a hang, so it disturbs no capture.
#pragma once

namespace aoti_dbg {

class Session;

/// Starts the thread if the options request it and `session` has a ring.
/// A thread hangs if it is inside a call and begins and ends no call for the limit. It also hangs if it keeps
/// polling the device and gets only "not ready", while no thread of the process makes a step. With completion
/// markers, a launch hangs if it does not end, no other launch ends, and no thread waits in a call
/// (stalled_streams).
/// A thread is not inside a call that an exception unwound, although it notices that only at its next call.
/// The position of its stack shows it earlier (unwound_calls). Only time that this thread sees counts, so a
/// stopped process does not hang.
void watch_for_hangs(Session& session);

}  // namespace aoti_dbg
