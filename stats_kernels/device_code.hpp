// The compiled CUDA kernels, for cuModuleLoadData. Loading them is the caller's: nothing here knows the
// driver.
#pragma once

#include <cstddef>
#include <span>

namespace aoti_dbg {

/// The function in the module; its parameter is one StatisticsLaunch (device_job.hpp).
inline constexpr const char* kStatisticsKernel = "aoti_dbg_stats";

/// A fatbin with machine code and PTX, aligned to 16 bytes; empty if this was built without nvcc.
std::span<const std::byte> device_code();

bool has_device_code();

}  // namespace aoti_dbg
