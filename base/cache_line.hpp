// How far apart things must lie that different threads write all the time.
#pragma once

#include <cstddef>

namespace aoti_dbg {

inline constexpr std::size_t kCacheLine = 64;

}  // namespace aoti_dbg
