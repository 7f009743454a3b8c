// The access that a fault on a device was: the instruction at its PC, and the address of each thread that
// executed it, as far as its registers still have it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "gpu_dump/gpu_faults.hpp"
#include "gpu_dump/memory_access.hpp"

namespace aoti_dbg::gpu {

struct FaultAccess {
    MemoryAccess instruction;
    struct Thread {
        Dim3 index;
        std::uint64_t address = 0;
    };
    /// Those that executed it; the driver does not say which of them met the exception. Empty: no registers,
    /// or they may be changed.
    std::vector<Thread> threads;
    /// False: a register may have changed since.
    bool is_certain = false;
};

/// Nothing where the instruction is not known to access memory.
std::optional<FaultAccess> fault_access(const GpuDump& dump, const Fault& fault);

}  // namespace aoti_dbg::gpu
