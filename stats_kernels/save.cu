// The CUDA kernel for saving. One launch hashes the bytes of several tensors and copies them to host memory
// as it reads them. No block waits for another. Unlike a driver copy, it needs no call per tensor and no
// event, because a line shows the host that the bytes have arrived. Must not use the CUDA runtime, allocate,
// or read a byte beyond a job's.
#include "stats_kernels/device_job.hpp"
#include "stats_kernels/device_lanes.cuh"
#include "stats_kernels/save_job.hpp"

namespace aoti_dbg::device {

// In an unnamed namespace, nvcc would put a hash of the folder into the names of functions.
inline namespace save_kernel {

constexpr unsigned kGroupsOfTurn = 4;  // in flight per thread

__device__ void add(BytesHash& hash, std::uint64_t number, const uint4& group) {
    add_group(hash, hash_place(number), std::uint64_t{group.y} << 32U | group.x,
              std::uint64_t{group.w} << 32U | group.z);
}

/// Loads a group from an address that is aligned for Unit.
template <typename Unit>
__device__ uint4 load(std::uint64_t at) {
    constexpr unsigned kUnits = sizeof(uint4) / sizeof(Unit);
    const Unit* const from = reinterpret_cast<const Unit*>(at);
    alignas(16) unsigned words[4] = {};
    if constexpr (sizeof(Unit) >= 4) {
#pragma unroll
        for (unsigned i = 0; i < kUnits; ++i)
            reinterpret_cast<Unit*>(words)[i] = from[i];
    } else {
        constexpr unsigned kInWord = 4 / sizeof(Unit);
#pragma unroll
        for (unsigned i = 0; i < kUnits; ++i)
            words[i / kInWord] |= static_cast<unsigned>(from[i]) << (i % kInWord * sizeof(Unit) * 8);
    }
    return make_uint4(words[0], words[1], words[2], words[3]);
}

/// Handles every n-th group, and returns the hash of this thread's groups.
template <typename Unit>
__device__ __noinline__ BytesHash save_groups(const SaveJob& job) {
    const std::uint64_t groups = job.bytes / sizeof(uint4);
    const std::uint64_t step = std::uint64_t{job.blocks} * kBlockThreads;
    BytesHash hash;
    std::uint64_t first = std::uint64_t{blockIdx.x - job.first_block} * kBlockThreads + threadIdx.x;
    for (; first < groups; first += step * kGroupsOfTurn) {
        uint4 read[kGroupsOfTurn];
#pragma unroll
        for (unsigned k = 0; k < kGroupsOfTurn; ++k) {
            const std::uint64_t number = first + k * step;
            if (number < groups) read[k] = load<Unit>(job.data + number * sizeof(uint4));
        }
#pragma unroll
        for (unsigned k = 0; k < kGroupsOfTurn; ++k) {
            const std::uint64_t number = first + k * step;
            if (number >= groups) break;
            add(hash, job.first_group + number, read[k]);
            if (job.to != 0) reinterpret_cast<uint4*>(job.to)[number] = read[k];
        }
    }
    return hash;
}

__device__ BytesHash save_whole_groups(const SaveJob& job) {
    if (job.data % 16 == 0) return save_groups<uint4>(job);
    if (job.data % 8 == 0) return save_groups<uint2>(job);
    if (job.data % 4 == 0) return save_groups<unsigned>(job);
    if (job.data % 2 == 0) return save_groups<unsigned short>(job);
    return save_groups<unsigned char>(job);
}

/// One thread handles the bytes after the last whole group. Zero bytes fill it, and they are hashed but not
/// copied.
__device__ __noinline__ void save_end(const SaveJob& job, BytesHash& hash) {
    const std::uint64_t groups = job.bytes / sizeof(uint4);
    const unsigned char* const from =
        reinterpret_cast<const unsigned char*>(job.data + groups * sizeof(uint4));
    unsigned char* const to = reinterpret_cast<unsigned char*>(job.to + groups * sizeof(uint4));
    std::uint64_t words[2] = {0, 0};
    for (unsigned i = 0; i < job.bytes % sizeof(uint4); ++i) {
        const unsigned char byte = from[i];
        words[i / 8] |= std::uint64_t{byte} << (i % 8 * 8);
        if (job.to != 0) to[i] = byte;
    }
    add_group(hash, hash_place(job.first_group + groups), words[0], words[1]);
}

/// Sends the block's line after everything that its threads wrote.
__device__ void leave_line(const SaveJob& job, BytesHash hash, unsigned sequence) {
    __shared__ std::uint64_t of_warps[2][kWarps];
    __shared__ std::uint64_t words[kLineWords];
    __syncwarp();
    hash.low = sum_of_lanes(hash.low);
    hash.high = sum_of_lanes(hash.high);
    if (threadIdx.x % 32 == 0) {
        of_warps[0][threadIdx.x / 32] = hash.low;
        of_warps[1][threadIdx.x / 32] = hash.high;
    }
    __syncthreads();
    if (threadIdx.x >= 32) return;
    const unsigned lane = threadIdx.x;
    const std::uint64_t low = sum_of_lanes(lane < kWarps ? of_warps[0][lane] : 0);
    const std::uint64_t high = sum_of_lanes(lane < kWarps ? of_warps[1][lane] : 0);
    if (lane < kLineWords) words[lane] = lane == kSavedLow ? low : lane == kSavedHigh ? high : 0;
    __syncwarp();
    __threadfence_system();
    const std::uint64_t to = job.lines + std::uint64_t{blockIdx.x - job.first_block} * sizeof(ResultLine);
    send_line(words, lane < 4, to, sequence);
}

}  // namespace save_kernel

}  // namespace aoti_dbg::device

extern "C" __global__ void __launch_bounds__(aoti_dbg::kBlockThreads)
    aoti_dbg_save(const __grid_constant__ aoti_dbg::SaveLaunch launch) {
    using namespace aoti_dbg;
    using namespace aoti_dbg::device;
    let_next_kernel_start();
    wait_for_previous_kernels();
    unsigned number = 0;
    for (unsigned j = 1; j < launch.jobs; ++j)
        if (blockIdx.x >= launch.job[j].first_block) number = j;
    const SaveJob& job = launch.job[number];
    BytesHash hash = save_whole_groups(job);
    if (job.bytes % sizeof(uint4) != 0 && blockIdx.x == job.first_block && threadIdx.x == 0)
        save_end(job, hash);
    leave_line(job, hash, launch.sequence);
}
