// Where a thread of this process stands, read from /proc: nothing is done to it, and no lock is taken that it
// may hold. What the kernel does not tell is left empty.
#pragma once

#include <cstdint>

#include "serializer/hang.hpp"

namespace aoti_dbg {

/// `stack`: where its callers are looked for; 0: they are not.
ThreadPlace place_of_thread(std::uint32_t tid, std::uintptr_t stack);

/// Where its stack stands, while it is blocked in the kernel; 0: it runs, or the kernel does not tell.
std::uintptr_t stack_of_blocked(std::uint32_t tid);

}  // namespace aoti_dbg
