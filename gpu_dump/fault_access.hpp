// The memory access that faulted on a device: the instruction at the fault's PC, and the address that each
// thread accessed. Addresses come from registers and are missing if those may have changed.
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
    /// The threads that executed it. The driver does not say which of them faulted. Empty if there are no
    /// registers, or they may have changed.
    std::vector<Thread> threads;
    /// False if a register may have changed since.
    bool is_certain = false;
};

/// Returns nothing if the instruction is not known to access memory.
std::optional<FaultAccess> fault_access(const GpuDump& dump, const Fault& fault);

}  // namespace aoti_dbg::gpu
