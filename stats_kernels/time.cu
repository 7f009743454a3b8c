// The CUDA kernel for the timeline without a profiler. It runs right after a kernel of the program, on its
// stream, and sends the device's time to host memory. Must not read memory. Unlike the other kernels, it does
// not ask to overlap its predecessor, because it measures when that one ended.
#include <cstdint>

extern "C" __global__ void aoti_dbg_time(const std::uint64_t word) {
    std::uint64_t now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    *reinterpret_cast<volatile std::uint64_t*>(word) = now;
}
