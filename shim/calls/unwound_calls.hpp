// Calls that an exception unwound, so they never returned. The thread itself notices at its next call. This
// code detects them earlier, from the thread's stack pointer.
#pragma once

#include <cstdint>

#include "shim/calls/thread_state.hpp"

namespace aoti_dbg {

/// Returns true if the cookie of a call, which has this mark, was overwritten. The cookie must be readable.
/// Reads the word even though its frame may be gone, which is intentional.
__attribute__((no_sanitize_address)) inline bool is_overwritten(const std::uint64_t* cookie,
                                                                std::uint64_t mark) {
    return __atomic_load_n(cookie, __ATOMIC_RELAXED) != mark;
}

/// Returns how many open calls the thread can still be inside of at stack pointer `stack`. Calls beyond that
/// were unwound. If `stack` is 0 (unknown), only overwritten cookies count.
///
/// A call counts as open if its frame or `stack` is on another stack (a fiber's). The same holds if the stack
/// bounds are unknown. Makes no system call and takes no lock, so it is safe in signal handlers.
///
/// Another thread may call this only if it keeps this thread from ending. Its result is valid only if the
/// thread started or ended no call meanwhile.
std::uint32_t open_depth(const ThreadState& state, std::uintptr_t stack);

/// Closes the thread's innermost call, which was unwound. Only the thread itself may call this, including
/// from a signal handler.
void close_innermost_unwound(ThreadState& state);
/// Closes all unwound calls of the thread. The same restriction applies.
void close_unwound_records(ThreadState& state, std::uintptr_t stack);

}  // namespace aoti_dbg
