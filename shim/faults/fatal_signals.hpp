// Handles signals with which the processor or the C library reports a program error. The handler records the
// signal and its thread in the flight recorder ring. It starts the report if no `aoti-dbg run` waits for the
// exit. Then the signal has its original effect. It must not touch a signal that the program handles or
// ignores.
#pragma once

namespace aoti_dbg {

/// Installs handlers for the signals with the default action, once per process.
void watch_fatal_signals();

/// Does so at load if the command waits for this process and Python enables its faulthandler at startup. It
/// then forwards signals to the handlers that it finds. Without it, Python must find these signals at their
/// default, because it lets programs query and restore them.
void watch_fatal_signals_for_faulthandler();

/// Waits if another thread's signal is about to end the process, so that an exit does not replace that end.
void yield_to_fatal_signal();

}  // namespace aoti_dbg
