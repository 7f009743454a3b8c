// Starts threads of the library that do not disturb the program.
#pragma once

namespace aoti_dbg {

/// Runs `run(argument)` in a detached thread with all signals blocked but SIGSEGV and SIGBUS. The program may
/// handle these to make memory readable that our thread reads.
///
/// Returns false if no thread can be created. May change errno.
bool start_own_thread(void* (*run)(void*), void* argument);

/// Gives the calling thread our name. Every `run` calls it first.
void name_own_thread();

}  // namespace aoti_dbg
