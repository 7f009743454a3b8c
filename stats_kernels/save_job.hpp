// Saving as host and device see it: a job is bytes that the device hashes and, where there is somewhere to
// put them, copies into the host's memory; any few jobs a launch. Plain structs; both sides read the same
// bytes.
//
//   host   fills a SaveLaunch by add_save_job(), cuLaunchKernel(kSaveKernel) with `blocks` blocks
//   device each block hashes and copies its share, then leaves a line: who finds the line finds the bytes
#pragma once

#include <cstdint>

#include "stats_kernels/bytes_hash.hpp"
#include "stats_kernels/result_lines.hpp"

namespace aoti_dbg {

struct DeviceLimits;

struct SaveJob {
    std::uint64_t data = 0;  // device address of the first byte, of any alignment
    std::uint64_t bytes = 0;
    std::uint64_t first_group = 0;  // that they begin with, as add_bytes() has it
    std::uint64_t to = 0;     // device address of host memory, a multiple of 16; 0: they are only hashed
    std::uint64_t lines = 0;  // device address of a ResultLine a block
    std::uint32_t first_block = 0;
    std::uint32_t blocks = 0;
};
static_assert(sizeof(SaveJob) == 48);

inline constexpr std::uint32_t kMostSaveJobs = 32;

/// The one parameter of the kernel.
struct SaveLaunch {
    std::uint32_t sequence = 0;  // not 0
    std::uint32_t jobs = 0;
    std::uint32_t blocks = 0;
    std::uint32_t unused = 0;
    SaveJob job[kMostSaveJobs];
};

/// The words of a block's line, its share of the sum over all groups.
enum SavedWord : std::uint32_t { kSavedLow, kSavedHigh };

/// How many blocks hash so many bytes, or copy them too, at least one.
std::uint32_t blocks_to_save(std::uint64_t bytes, bool copies, const DeviceLimits& limits);

/// False, and nothing changed, where no job fits any more. The job's first block is set here.
bool add_save_job(SaveLaunch& launch, const SaveJob& job);

/// What of a job has arrived, from one look to the next.
struct Arrived {
    std::uint32_t blocks = 0;
    BytesHash sum;  // of what they have hashed; finished() makes it a hash
};

/// True when all blocks have left their lines: then the bytes are there as well.
bool look_for_blocks(const ResultLine* lines, std::uint32_t blocks, std::uint32_t sequence, Arrived& arrived);

}  // namespace aoti_dbg
