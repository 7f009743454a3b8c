// Threads of the library's own, as quiet as a thread can be.
#pragma once

namespace aoti_dbg {

/// Starts `run(argument)` in a detached thread. No signal of the program's is delivered to it, but for what
/// its own reads of the program's memory raise: a handler of the program's may be what makes that readable.
/// False where none can be made; errno may have changed.
bool start_own_thread(void* (*run)(void*), void* argument);

/// Names the calling thread as ours; what `run` begins with.
void name_own_thread();

}  // namespace aoti_dbg
