// Detects that another part of the program is about to use CUPTI, which serves one profiler at a time.
#pragma once

#include "shim/timeline/cupti_api.hpp"

namespace aoti_dbg {

/// From now on, calls `give_way` before a loaded library, such as torch.profiler, registers with CUPTI. It
/// replaces import slots of these libraries. Call it once per process.
void watch_for_other_profilers(const cupti::Api& api, void (*give_way)());

}  // namespace aoti_dbg
