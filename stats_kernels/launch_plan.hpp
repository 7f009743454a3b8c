// From tensors to a launch: which jobs, how many blocks. Arithmetic only; knows nothing of the driver.
#pragma once

#include "stats_kernels/device_job.hpp"

namespace aoti_dbg {

struct DeviceLimits {
    std::uint32_t multiprocessors = 1;
    /// How many of our blocks one holds at a time: what the kernel is compiled for.
    std::uint32_t blocks_per_multiprocessor = 4;
};

/// Where jobs and dimensions are put, and how many of them there are by now.
struct JobTable {
    std::span<DeviceJob> jobs;
    std::span<DeviceDim> dims;
    std::uint32_t used_jobs = 0;
    std::uint32_t used_dims = 0;
};

/// Into the parameters of a launch.
JobTable near_table(StatisticsLaunch& launch);

/// False, and nothing changed, where jobs or dimensions do not fit any more. `result` is a device address;
/// the data need not be aligned.
bool add_job(JobTable& table, const TensorView& tensor, Wanted wanted, std::uint64_t result);

/// Deals out blocks, by what each tensor has to be read of; returns their number, the grid of the launch.
std::uint32_t plan_launch(std::span<DeviceJob> jobs, const DeviceLimits& limits);

/// No plan for so many jobs has more blocks: for the size of the scratch buffer.
std::uint32_t most_blocks(std::uint32_t jobs, const DeviceLimits& limits);

}  // namespace aoti_dbg
