// From tensors to a launch: which jobs, how many blocks. Arithmetic only; knows nothing of the driver.
#pragma once

#include <vector>

#include "stats_kernels/device_job.hpp"

namespace aoti_dbg {

struct DeviceLimits {
    std::uint32_t multiprocessors = 1;
    /// How many of our blocks one holds at a time: what the kernel is compiled for.
    std::uint32_t blocks_per_multiprocessor = 4;
};

/// How many blocks read a tensor, at least one. What else the launch measures does not matter: blocks that
/// the device does not hold at once follow one another.
std::uint32_t blocks_for(DType dtype, std::uint64_t count, Wanted wanted, const DeviceLimits& limits);

/// What does not change from launch to launch of a tensor's job.
struct TensorJob {
    DeviceJob job;
    std::vector<DeviceDim> dims;
};
/// For all that is wanted with the same answer of depends_on_order().
TensorJob prepare_job(const TensorView& tensor, Wanted wanted);

/// False, and nothing changed, where a job or its dimensions do not fit any more. `data` and `lines` are
/// device addresses; the data need not be aligned.
bool add_job(StatisticsLaunch& launch, const TensorJob& prepared, Wanted wanted, std::uint64_t data,
             std::uint32_t blocks, std::uint64_t lines);
bool add_job(StatisticsLaunch& launch, const TensorView& tensor, Wanted wanted, std::uint32_t blocks,
             std::uint64_t lines);

/// Of the lines that add_job()'s job leaves.
ResultShape shape_of(const TensorView& tensor, Wanted wanted, std::uint32_t blocks);

}  // namespace aoti_dbg
