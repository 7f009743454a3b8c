// Calls that a thread is no longer inside of though they never came back: an exception has left them. The
// thread itself notices at its next call; here it is known before that, from where its stack stands.
#pragma once

#include <cstdint>

namespace aoti_dbg {

struct OpenCall;
struct ThreadState;

/// Whether the cookie of `call`, which must be readable, is no longer that of the call.
bool is_overwritten(const OpenCall& call);

/// How many of its calls the thread can still be inside of while its stack stands at `stack`; those beyond
/// were left. `stack` 0: not known, only what has overwritten them tells. A call counts as open where its
/// frame or `stack` lies elsewhere than on the thread's own stack (a fiber's), or the bounds of that are not
/// known. Asks nobody, takes no lock: for signal handlers. Another thread must keep this one from ending
/// meanwhile, and what it is told is true only if the thread has made no step.
std::uint32_t open_depth(const ThreadState& state, std::uintptr_t stack);

/// Closes the thread's innermost call, which was left. Only the thread itself, also in a signal handler.
void close_innermost_unwound(ThreadState& state);
/// Likewise all that were left.
void close_unwound_records(ThreadState& state, std::uintptr_t stack);

}  // namespace aoti_dbg
