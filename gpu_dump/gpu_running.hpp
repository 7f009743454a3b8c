// Reads a GPU core dump without an exception: the kernels that were running when the dump was requested, and
// the lines of their warps. For a kernel that never ends, this is the loop.
#pragma once

#include <string>
#include <vector>

#include "gpu_dump/gpu_dump.hpp"
#include "gpu_dump/gpu_faults.hpp"

namespace aoti_dbg::gpu {

struct Running {
    Fault at;  // the line with the most warps: one of those warps, without an exception
    Index warps = 0;
    Index blocks = 0;
    Index warps_there = 0;  // at that line
};

/// Returns the kernels in launch order, device by device.
std::vector<Running> running(const GpuDump& dump, const CodeMap& code);

}  // namespace aoti_dbg::gpu
