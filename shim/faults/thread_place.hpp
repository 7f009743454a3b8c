// Finds where a thread of this process is, from /proc. It must not touch the thread or take a lock that the
// thread may hold. What the kernel does not report stays empty.
#pragma once

#include <cstdint>

#include "serializer/hang.hpp"

namespace aoti_dbg {

/// `stack` is where the search for callers starts; 0 skips the search.
ThreadPlace place_of_thread(std::uint32_t tid, std::uintptr_t stack);

/// Returns the stack pointer of a thread that is blocked in the kernel. Returns 0 if the thread runs or the
/// kernel does not report it.
std::uintptr_t stack_of_blocked(std::uint32_t tid);

}  // namespace aoti_dbg
