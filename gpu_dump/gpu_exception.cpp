// See gpu_exception.hpp. The numbers are those of the toolkit's cudadebugger.h. Newer drivers replace some of
// them with more precise ones.
#include "gpu_dump/gpu_exception.hpp"

#include <algorithm>
#include <iterator>

namespace aoti_dbg::gpu {
namespace {

constexpr ExceptionInfo kExceptions[] = {
    {0, "no exception", "nothing went wrong", Blame::unknown},
    {1, "illegal address", "a thread read or wrote an unmapped address", Blame::kernel},
    {2, "stack overflow", "a thread used more stack than it has", Blame::kernel},
    {3, "hardware stack overflow", "the hardware call stack overflowed", Blame::kernel},
    {4, "illegal instruction", "a thread reached code that is not an instruction of this GPU", Blame::kernel},
    {5, "address out of range", "an address is outside its memory space (local, shared or global)",
     Blame::kernel},
    {6, "misaligned address", "an address is not a multiple of the size of the access", Blame::kernel},
    {7, "invalid address space", "an instruction got an address in a memory space that it cannot access",
     Blame::kernel},
    {8, "invalid PC", "a jump or call went to an address without code", Blame::kernel},
    {9, "hardware stack overflow", "the hardware call stack overflowed", Blame::kernel},
    {10, "illegal address", "the memory system got an unmapped address", Blame::kernel},
    {11, "misaligned address", "an address is not a multiple of the size of the access", Blame::kernel},
    {12, "assert", "a device-side assertion failed", Blame::kernel},
    {13, "error in a system call", "a call from device code to the runtime library failed", Blame::kernel},
    {14, "illegal address", "a thread read or wrote an unmapped address", Blame::kernel},
    {15, "atomic on memory that cannot migrate",
     "a system-wide atomic accessed memory that cannot migrate to the GPU", Blame::kernel},
    {16, "invalid system-wide atomic", "a system-wide atomic accessed memory that does not support it",
     Blame::kernel},
    {17, "cluster address out of range", "an address is outside the shared memory of another block",
     Blame::kernel},
    {18, "block not present", "a thread accessed another block of the cluster that had ended or not started",
     Blame::kernel},
    {19, "stack canary overwritten", "a function wrote past the end of a variable on its stack",
     Blame::kernel},
    {20, "tensor memory access", "a thread accessed tensor memory outside its allocation", Blame::kernel},
    {21, "tensor memory leak", "a block ended without freeing its tensor memory", Blame::kernel},
    {22, "newer driver required", "a call needs a newer driver than the one installed", Blame::driver},
    {23, "misaligned PC", "a jump or call went into the middle of an instruction", Blame::kernel},
    {24, "PC overflow", "execution ran past the end of the address space", Blame::kernel},
    {25, "misaligned register", "an instruction names registers that are not aligned", Blame::kernel},
    {26, "illegal instruction encoding", "a thread reached code that is not an instruction of this GPU",
     Blame::kernel},
    {27, "illegal instruction parameter", "an instruction got a value that it does not accept",
     Blame::kernel},
    {28, "register out of range", "an instruction names a register that the kernel does not have",
     Blame::kernel},
    {29, "invalid constant address", "a thread read outside constant memory", Blame::kernel},
    {30, "MMU fault", "the memory system could not translate an address", Blame::kernel},
    {31, "barrier misuse", "an mbarrier got more arrivals than it waits for, or was locked", Blame::kernel},
    {32, "poisoned cluster access", "memory had an uncorrectable error", Blame::hardware},
    {33, "stack limit exceeded", "a thread used more stack than the limit allows", Blame::kernel},
    {34, "block not present", "a thread accessed a block that had ended or not started", Blame::kernel},
    {35, "stack overflow", "a thread used more stack than it has", Blame::kernel},
    {36, "TMA error", "a bulk copy of the tensor memory accelerator failed", Blame::kernel},
};

constexpr ExceptionInfo kUnknown = {0xffffffff, "unknown exception",
                                    "this version of aoti-dbg does not know the number", Blame::unknown};

}  // namespace

const ExceptionInfo& exception_info(std::uint32_t code) {
    const auto* const found = std::find_if(std::begin(kExceptions), std::end(kExceptions),
                                           [code](const ExceptionInfo& info) { return info.code == code; });
    return found == std::end(kExceptions) ? kUnknown : *found;
}

std::string exception_name(std::uint32_t code) {
    return std::string(exception_info(code).name) + " (" + std::to_string(code) + ")";
}

}  // namespace aoti_dbg::gpu
