// The compiled CUDA kernels, for cuModuleLoadData. The caller loads them. This file must not depend on the
// driver.
#pragma once

#include <cstddef>
#include <span>

namespace aoti_dbg {

/// A module with one function.
struct DeviceCode {
    const char* kernel;
    std::span<const std::byte> fatbin;  // machine code and PTX, 16-byte aligned, empty without nvcc
};

/// From statistics.cu. Its parameter is one StatisticsLaunch (device_job.hpp).
inline constexpr const char* kStatisticsKernel = "aoti_dbg_stats";
DeviceCode statistics_code();

/// From save.cu. Its parameter is one SaveLaunch (save_job.hpp).
inline constexpr const char* kSaveKernel = "aoti_dbg_save";
DeviceCode save_code();

/// From time.cu. Its parameter is the device's address of an 8-byte word, to which one thread writes the
/// device's time in nanoseconds.
inline constexpr const char* kTimeKernel = "aoti_dbg_time";
DeviceCode time_code();

}  // namespace aoti_dbg
