// Plans a launch for tensors: its jobs and the number of blocks. Pure arithmetic that must not depend on the
// driver.
#pragma once

#include <vector>

#include "stats_kernels/device_job.hpp"

namespace aoti_dbg {

struct DeviceLimits {
    std::uint32_t multiprocessors = 1;
    /// How many of our blocks a multiprocessor runs at a time, as compiled into the kernel.
    std::uint32_t blocks_per_multiprocessor = 4;
};

/// Returns how many blocks read a tensor, at least one. The rest of the launch does not matter: blocks beyond
/// the device's capacity run afterwards.
std::uint32_t blocks_for(DType dtype, std::uint64_t count, Requested requested, const DeviceLimits& limits);

/// The part of a tensor's job that is the same for every launch.
struct TensorJob {
    DeviceJob job;
    std::vector<DeviceDim> dims;
};
/// The result is valid for every request with the same depends_on_order().
TensorJob prepare_job(const TensorView& tensor, Requested requested);

/// Returns false and changes nothing if the job or its dimensions do not fit. `data` and `lines` are device
/// addresses. The data need not be aligned.
bool add_job(StatisticsLaunch& launch, const TensorJob& prepared, Requested requested, std::uint64_t data,
             std::uint32_t blocks, std::uint64_t lines);
bool add_job(StatisticsLaunch& launch, const TensorView& tensor, Requested requested, std::uint32_t blocks,
             std::uint64_t lines);

/// Returns the shape of the lines that the job writes.
ResultShape shape_of(const TensorView& tensor, Requested requested, std::uint32_t blocks);

}  // namespace aoti_dbg
