// Finds the callers of a call that does not return: every address on the thread's stack that follows a call
// instruction. It must not touch the thread. Addresses of calls that have returned may remain. No active
// caller is missing, except those that were optimized into a jump.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "shim/faults/memory_map.hpp"

namespace aoti_dbg {

inline constexpr std::size_t kMostCallers = 24;

/// Searches from `stack` upwards and returns the innermost caller first, as "/path/libc.so.6+0x98d61".
/// Returns nothing if `stack` is 0.
std::vector<std::string> callers_above(std::uintptr_t stack, const MemoryMap& map);

/// True if a call instruction may end there. `code` has the seven bytes before the address.
bool ends_with_call(std::span<const unsigned char, 7> code);

}  // namespace aoti_dbg
