// The interface of host and device: one job per tensor, several jobs per launch, results in host-mapped
// memory (result_lines.hpp). Plain structs that both sides read byte by byte.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "stats_kernels/result_lines.hpp"
#include "stats_kernels/statistics.hpp"

namespace aoti_dbg {

struct DeviceDim {
    std::int64_t size = 0;
    std::int64_t stride = 0;  // in elements
};

/// How the elements of a tensor that is not contiguous are read.
enum class StridedLoad : std::uint8_t {
    elements,  // one by one
    groups,    // aligned 16-byte groups, each within a row, cover the tensor
    patches,   // patches of kPatchColumns by kPatchBytes, whose columns are contiguous, cover the tensor
};

struct DeviceJob {
    std::uint64_t data = 0;   // device address of element 0
    std::uint64_t count = 0;  // elements
    std::uint64_t lines = 0;  // device address of its ResultLines
    std::uint32_t first_block = 0;
    std::uint32_t blocks = 0;
    std::uint8_t first_dim = 0;
    std::uint8_t rank = 0;  // 0 if the elements are contiguous
    StridedLoad strided_load = StridedLoad::elements;
    std::uint8_t bytes = 0;  // per element
    DType dtype = DType::float32;
    Requested requested = Requested::nothing;
    MathBits bits;
};
static_assert(sizeof(DeviceJob) == 40);

inline constexpr std::uint32_t kMostJobs = 48;                                 // of a launch
inline constexpr std::uint32_t kFirstJobStep = std::bit_floor(kMostJobs - 1);  // of a binary search
inline constexpr std::uint32_t kMostDims = 32;                                 // of a tensor
inline constexpr std::uint32_t kMostLaunchDims = 96;
inline constexpr std::uint32_t kBlockThreads = 256;
/// A patch has as many bytes as a block reads per turn.
inline constexpr std::uint32_t kPatchColumns = 128;  // indices of the last dimension
inline constexpr std::uint32_t kPatchBytes = 128;    // of the last dimension but one
static_assert(kPatchColumns * kPatchBytes == kBlockThreads * 64);

/// The only parameter of the kernel. The protocol is:
///
///   host   fills a StatisticsLaunch by add_job() and launches kStatisticsKernel with `blocks` blocks
///   device each block writes its lines, and the host adds them up once all are whole
///
/// A launch travels in its parameters, so the device keeps no state between launches.
struct StatisticsLaunch {
    std::uint32_t sequence = 0;  // not 0
    std::uint32_t jobs = 0;
    std::uint32_t dims = 0;
    std::uint32_t blocks = 0;
    DeviceJob job[kMostJobs];
    DeviceDim dim[kMostLaunchDims];
};
static_assert(sizeof(StatisticsLaunch) <= 4096, "the limit of a kernel's parameters");

}  // namespace aoti_dbg
