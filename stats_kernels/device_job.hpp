// What host and device say to one another: a job a tensor, any number of jobs a launch, results into
// host-mapped memory. Plain structs; both sides read the same bytes.
//
//   host   fills a StatisticsLaunch, plan_launch() deals out the blocks, cuLaunchKernel(kStatisticsKernel)
//   device writes each job's DeviceResult, its `sequence` last: who sees the number there sees the rest
//
// Jobs and dimensions of the usual few tensors travel in the launch's parameters; for more of them `far_*`
// lead to memory that the device can read and that stays as it is until the launch is over.
#pragma once

#include <cstddef>
#include <cstdint>

#include "stats_kernels/partial.hpp"
#include "stats_kernels/statistics.hpp"

namespace aoti_dbg {

struct DeviceDim {
    std::int64_t size = 0;
    std::int64_t stride = 0;  // in elements
};

/// Its `sequence` is not the launch's before it. Aligned, so that a warp writes it in one go.
struct alignas(16) DeviceResult {
    TensorPartial partial;
    std::uint32_t sequence = 0;
    std::uint32_t unused = 0;
};
static_assert(sizeof(DeviceResult) == 272 && sizeof(DeviceResult) % 16 == 0);

/// Tensors of no more elements have them brought to the host.
inline constexpr std::uint32_t kMostValues = 64;

/// The elements of a small tensor in logical order. `sequence` as in DeviceResult.
struct alignas(16) DeviceValues {
    std::byte elements[std::size_t{kMostValues} * 16];
    std::uint32_t sequence = 0;
    std::uint32_t unused[3] = {};
};
static_assert(sizeof(DeviceValues) == 1040);

struct DeviceJob {
    std::uint64_t data = 0;    // device address of element 0
    std::uint64_t count = 0;   // elements
    std::uint64_t result = 0;  // device address of a DeviceResult
    std::uint32_t first_dim = 0;
    std::uint32_t first_block = 0;
    std::uint32_t blocks = 0;
    DType dtype = DType::float32;
    Wanted wanted = Wanted::nothing;
    std::uint8_t rank = 0;   // 0: the elements lie one after the other
    std::uint8_t bytes = 0;  // of an element
};
static_assert(sizeof(DeviceJob) == 40);

inline constexpr std::uint32_t kNearJobs = 8;
inline constexpr std::uint32_t kNearDims = 24;
/// Jobs of one launch: a bound of the scratch buffer's first part.
inline constexpr std::uint32_t kMaxJobs = 1024;
inline constexpr std::uint32_t kBlockThreads = 256;

/// The one parameter of both kernels: of kValuesKernel the results are DeviceValues, all jobs are near ones
/// and each has a block of its own.
struct StatisticsLaunch {
    std::uint64_t scratch = 0;   // device address, scratch_bytes(); one launch at a time may use it
    std::uint64_t far_jobs = 0;  // of DeviceJob; 0: near_jobs
    std::uint64_t far_dims = 0;  // of DeviceDim; 0: near_dims
    std::uint32_t jobs = 0;
    std::uint32_t sequence = 0;  // not 0
    DeviceJob near_jobs[kNearJobs];
    DeviceDim near_dims[kNearDims];
};

/// Counters of blocks that are done. A launch leaves them zero, as it must find them.
inline constexpr std::uint64_t kScratchCounterBytes = std::uint64_t{kMaxJobs} * sizeof(std::uint32_t);

/// Of a launch of so many blocks. The first kScratchCounterBytes are zeroed once, by who allocates it.
constexpr std::uint64_t scratch_bytes(std::uint32_t blocks) {
    return kScratchCounterBytes + std::uint64_t{blocks} * sizeof(DeviceResult);
}

}  // namespace aoti_dbg
