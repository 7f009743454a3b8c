// What host and device say to one another: a job a tensor, any few jobs a launch, results into host-mapped
// memory (result_lines.hpp). Plain structs; both sides read the same bytes.
//
//   host   fills a StatisticsLaunch by add_job(), cuLaunchKernel(kStatisticsKernel) with `blocks` blocks
//   device each block leaves its lines; who finds all of them whole adds them up
//
// All of a launch travels in its parameters: nothing on the device is kept from one launch to the next.
#pragma once

#include <cstddef>
#include <cstdint>

#include "stats_kernels/result_lines.hpp"
#include "stats_kernels/statistics.hpp"

namespace aoti_dbg {

struct DeviceDim {
    std::int64_t size = 0;
    std::int64_t stride = 0;  // in elements
};

struct DeviceJob {
    std::uint64_t data = 0;   // device address of element 0
    std::uint64_t count = 0;  // elements
    std::uint64_t lines = 0;  // device address of its ResultLines
    std::uint32_t first_block = 0;
    std::uint32_t blocks = 0;
    std::uint8_t first_dim = 0;
    std::uint8_t rank = 0;  // 0: the elements lie one after the other
    /// Of rank > 0: 16 bytes of one row each, which vector loads can take, cover all of it.
    bool is_in_groups = false;
    std::uint8_t bytes = 0;  // of an element
    DType dtype = DType::float32;
    Wanted wanted = Wanted::nothing;
    MathBits bits;
};
static_assert(sizeof(DeviceJob) == 40);

inline constexpr std::uint32_t kMostJobs = 16;
inline constexpr std::uint32_t kMostDims = 32;
inline constexpr std::uint32_t kBlockThreads = 256;

/// The one parameter of the kernel.
struct StatisticsLaunch {
    std::uint32_t sequence = 0;  // not 0
    std::uint32_t jobs = 0;
    std::uint32_t dims = 0;
    std::uint32_t blocks = 0;
    DeviceJob job[kMostJobs];
    DeviceDim dim[kMostDims];
};

}  // namespace aoti_dbg
