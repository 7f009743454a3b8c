// The callers of a call that does not come back, found on its thread's stack: every address there that lies
// behind an instruction that calls. Nothing is done to the thread. Some may be left over of calls that have
// returned; none that has not is missing, but for those that were optimised into a jump.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "shim/faults/memory_map.hpp"

namespace aoti_dbg {

inline constexpr std::size_t kMostCallers = 24;

/// From `stack` upwards, the innermost first, as "/path/libc.so.6+0x98d61"; nothing where `stack` is 0.
std::vector<std::string> callers_above(std::uintptr_t stack, const MemoryMap& map);

/// Whether a call may be what ends there: `code` are the seven bytes before.
bool ends_with_call(std::span<const unsigned char, 7> code);

}  // namespace aoti_dbg
