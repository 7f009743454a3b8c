// Sends the elements of a tensor of at most kMostValues in logical order. All threads of its only block take
// part, once the staging area is free.
#pragma once

#include "stats_kernels/device_finish.cuh"

namespace aoti_dbg::device {

__device__ __noinline__ void leave_values(unsigned bytes, unsigned sequence) {
    const DeviceJob& job = shared_job();
    auto* staged = reinterpret_cast<unsigned char*>(shared().staged);
    const unsigned lines = value_lines(bytes);
    // Copy byte by byte, because data need not be aligned.
    for (unsigned byte = threadIdx.x; byte < lines * kLineWords * 8; byte += kBlockThreads) {
        const unsigned element = byte / job.bytes;
        const std::int64_t offset = job.rank == 0 ? element : place_of(byte < bytes ? element : 0).offset;
        const auto* from = reinterpret_cast<const unsigned char*>(job.data) + offset * job.bytes;
        staged[byte] = byte < bytes ? from[byte % job.bytes] : 0;
    }
    if (job.bits.any()) {
        __syncthreads();
        for (unsigned at = threadIdx.x * 16; at < bytes; at += kBlockThreads * 16)
            shared().staged[at / 16] = with_flipped_signs(shared().staged[at / 16], min(bytes - at, 16U));
    }
    __syncthreads();
    const unsigned line = threadIdx.x / 4;
    const auto* words = reinterpret_cast<const std::uint64_t*>(staged);
    const unsigned place = job.blocks * line_parts(job.dtype) * line_kinds(job.dtype, job.requested) + line;
    send_line(words + (line < lines ? line : 0) * kLineWords, line < lines,
              job.lines + std::uint64_t{place} * sizeof(ResultLine), sequence);
}

}  // namespace aoti_dbg::device
