// Renders a GPU core dump as text, at most one screen.
#pragma once

#include <string>

#include "gpu_dump/gpu_dump.hpp"

namespace aoti_dbg::cli {

/// Returns whole lines. Text from the dump is safe to print on a terminal.
std::string gpu_dump_text(const gpu::GpuDump& dump);

}  // namespace aoti_dbg::cli
