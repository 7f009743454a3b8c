// The size of a cache line, and a prefetch for writing. Data that different threads write all the time must
// lie on different lines.
#pragma once

#include <cstddef>

namespace aoti_dbg {

inline constexpr std::size_t kCacheLine = 64;

/// Prefetches a cache line that will be written next. It may have left the caches, or another core may own
/// it.
inline void expect_to_write(const void* address) {
#if defined(__x86_64__)
    // Without an option for newer processors, the compiler's own builtin prefetches for reading. Processors
    // without this instruction ignore it.
    asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(address)));
#else
    __builtin_prefetch(address, 1);
#endif
}

}  // namespace aoti_dbg
