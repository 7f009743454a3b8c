// What a GPU core dump says, for a person: at most a screen.
#pragma once

#include <string>

#include "gpu_dump/gpu_dump.hpp"

namespace aoti_dbg::cli {

/// Whole lines. What comes from the dump is made harmless for a terminal.
std::string gpu_dump_text(const gpu::GpuDump& dump);

}  // namespace aoti_dbg::cli
