// Signals by which the processor or the C library says that the program is wrong: which it was, and of which
// thread, is noted in the flight ring; where nobody waits for the program's end (no `aoti-dbg run`) the
// report is asked for; and the signal goes on to do what it would have done. One that the program handles or
// ignores is its own business.
#pragma once

namespace aoti_dbg {

/// Takes those that are at their default, once a process.
void watch_fatal_signals();

/// Where another thread's signal is about to end the process, waits for that: an exit meanwhile must not turn
/// it into another end.
void yield_to_fatal_signal();

}  // namespace aoti_dbg
