// See gpu_exception.hpp. The numbers are those of the toolkit's cudadebugger.h; some are no longer used by
// newer drivers, which give more exact ones.
#include "serializer/gpu_exception.hpp"

#include <algorithm>
#include <iterator>

namespace aoti_dbg::gpu {
namespace {

constexpr ExceptionInfo kExceptions[] = {
    {0, "no exception", "nothing went wrong", Blame::unknown},
    {1, "illegal address", "a thread read or wrote where no memory is mapped", Blame::kernel},
    {2, "stack overflow", "a thread used more stack than it has", Blame::kernel},
    {3, "hardware stack overflow", "the call stack of the hardware ran over", Blame::kernel},
    {4, "illegal instruction", "code was reached that is no instruction of this GPU", Blame::kernel},
    {5, "address out of range", "an address lies outside of its memory space (local, shared or global)",
     Blame::kernel},
    {6, "misaligned address", "an address is no multiple of the size of what was read or written there",
     Blame::kernel},
    {7, "invalid address space", "an instruction was given an address of a memory space that it cannot reach",
     Blame::kernel},
    {8, "invalid PC", "a jump or call went where no code is", Blame::kernel},
    {9, "hardware stack overflow", "the call stack of the hardware ran over", Blame::kernel},
    {10, "illegal address", "the memory system met an address where nothing is mapped", Blame::kernel},
    {11, "misaligned address", "an address is no multiple of the size of what was read or written there",
     Blame::kernel},
    {12, "assert", "a device-side assert did not hold", Blame::kernel},
    {13, "error in a system call", "a call from device code into the run-time library failed", Blame::kernel},
    {14, "illegal address", "a thread read or wrote where no memory is mapped", Blame::kernel},
    {15, "atomic on memory that cannot migrate",
     "a system-wide atomic went to memory that the GPU cannot take over", Blame::kernel},
    {16, "invalid system-wide atomic", "a system-wide atomic went to memory that does not allow it",
     Blame::kernel},
    {17, "cluster address out of range", "an address lies outside of another block's shared memory",
     Blame::kernel},
    {18, "block not present", "another block of the cluster was used that had ended or had not begun",
     Blame::kernel},
    {19, "stack canary overwritten", "a function wrote past the end of a variable on its stack",
     Blame::kernel},
    {20, "tensor memory access", "tensor memory was used outside of what was allocated", Blame::kernel},
    {21, "tensor memory leak", "a block ended without giving back its tensor memory", Blame::kernel},
    {22, "newer driver required", "a call needs a driver that is newer than the one installed",
     Blame::driver},
    {23, "misaligned PC", "a jump or call went into the middle of an instruction", Blame::kernel},
    {24, "PC overflow", "execution ran past the end of all addresses", Blame::kernel},
    {25, "misaligned register", "an instruction names registers that do not begin where they must",
     Blame::kernel},
    {26, "illegal instruction encoding", "code was reached that is no instruction of this GPU",
     Blame::kernel},
    {27, "illegal instruction parameter", "an instruction was given a value that it does not take",
     Blame::kernel},
    {28, "register out of range", "an instruction names a register that the kernel does not have",
     Blame::kernel},
    {29, "invalid constant address", "a read of constant memory lies outside of it", Blame::kernel},
    {30, "MMU fault", "the memory system could not translate an address", Blame::kernel},
    {31, "barrier misuse", "an mbarrier got more arrivals than it waits for, or was locked", Blame::kernel},
    {32, "poisoned cluster access", "memory gave an error that could not be corrected", Blame::hardware},
    {33, "stack limit exceeded", "a thread used more stack than the limit that was set", Blame::kernel},
    {34, "block not present", "a block was used that had ended or had not begun", Blame::kernel},
    {35, "stack overflow", "a thread used more stack than it has", Blame::kernel},
    {36, "TMA error", "a bulk copy of the tensor memory accelerator failed", Blame::kernel},
};

constexpr ExceptionInfo kUnknown = {0xffffffff, "unknown exception",
                                    "the driver gives a number that this version does not know",
                                    Blame::unknown};

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
