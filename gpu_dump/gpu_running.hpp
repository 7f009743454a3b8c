// What a GPU core dump without an exception says: which kernels were on the device when somebody asked for
// it, and where their warps stood. Of a kernel that does not end that is the place where it goes round.
#pragma once

#include <string>
#include <vector>

#include "gpu_dump/gpu_dump.hpp"
#include "gpu_dump/gpu_faults.hpp"

namespace aoti_dbg::gpu {

struct Running {
    Fault at;  // the line where most of its warps stood: one of these, without an exception
    Index warps = 0;
    Index blocks = 0;
    Index warps_there = 0;  // at that line
};

/// In the order of their launches, device by device.
std::vector<Running> running(const GpuDump& dump, const CodeMap& code);

}  // namespace aoti_dbg::gpu
