// The elements of small tensors, in logical order, as they are: one block a tensor. For tensors of at most
// kMostValues elements; others get none.
#pragma once

#include "stats_kernels/device_job.hpp"

extern "C" __global__ void __launch_bounds__(aoti_dbg::kBlockThreads)
    aoti_dbg_values(const __grid_constant__ aoti_dbg::StatisticsLaunch launch) {
    using namespace aoti_dbg;
    const DeviceJob& job = launch.near_jobs[blockIdx.x];
    auto* values = reinterpret_cast<DeviceValues*>(job.result);
    const unsigned bytes = element_size(job.dtype);
    const auto count = static_cast<unsigned>(job.count < kMostValues ? job.count : kMostValues);
    // Byte by byte, because data need not be aligned.
    for (unsigned byte = threadIdx.x; byte < count * bytes; byte += kBlockThreads) {
        std::int64_t rest = byte / bytes;
        std::int64_t offset = job.rank == 0 ? rest : 0;
        for (unsigned d = job.rank; d-- > 0;) {
            const DeviceDim& dim = launch.near_dims[job.first_dim + d];
            offset += rest % dim.size * dim.stride;
            rest /= dim.size;
        }
        const auto* element = reinterpret_cast<const std::byte*>(job.data) + offset * bytes;
        values->elements[byte] = element[byte % bytes];
    }
    __threadfence_system();
    __syncthreads();
    if (threadIdx.x == 0) *const_cast<volatile std::uint32_t*>(&values->sequence) = launch.sequence;
}
