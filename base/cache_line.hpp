// The distance between data that different threads write all the time. It avoids false sharing.
#pragma once

#include <cstddef>

namespace aoti_dbg {

inline constexpr std::size_t kCacheLine = 64;

}  // namespace aoti_dbg
