// Which devices of CUDA this process works with: each is noted once, where memory is first made on it. Asks
// the driver past all hooks, whatever captures meanwhile. Throws without memory.
#pragma once

#include <cstdint>

namespace aoti_dbg {

/// As the process counts devices; one that is not known is negative.
void note_device(std::int32_t device);

}  // namespace aoti_dbg
