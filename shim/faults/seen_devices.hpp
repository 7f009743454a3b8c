// Records which CUDA devices this process uses, once each, when memory is first allocated there. It calls the
// driver past all hooks, and may do so during a capture. It throws if memory runs out.
#pragma once

#include <cstdint>

namespace aoti_dbg {

/// `device` is the process's number of the device. A negative number means unknown.
void note_device(std::int32_t device);

}  // namespace aoti_dbg
