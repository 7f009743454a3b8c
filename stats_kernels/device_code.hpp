// The compiled CUDA kernels, for cuModuleLoadData. Loading them is the caller's: nothing here knows the
// driver.
#pragma once

#include <cstddef>
#include <span>

namespace aoti_dbg {

/// A module with one function.
struct DeviceCode {
    const char* kernel;
    std::span<const std::byte> fatbin;  // machine code and PTX, aligned to 16 bytes; empty without nvcc
};

/// Of statistics.cu; the parameter is one StatisticsLaunch (device_job.hpp).
inline constexpr const char* kStatisticsKernel = "aoti_dbg_stats";
DeviceCode statistics_code();

/// Of save.cu; the parameter is one SaveLaunch (save_job.hpp).
inline constexpr const char* kSaveKernel = "aoti_dbg_save";
DeviceCode save_code();

}  // namespace aoti_dbg
