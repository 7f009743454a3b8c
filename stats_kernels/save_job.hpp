// The interface of host and device for saving. The device hashes the bytes of a job and, if it has a
// destination, copies them to host memory. A launch has several jobs. Plain structs that both sides read byte
// by byte.
#pragma once

#include <cstdint>

#include "stats_kernels/bytes_hash.hpp"
#include "stats_kernels/result_lines.hpp"

namespace aoti_dbg {

struct DeviceLimits;

struct SaveJob {
    std::uint64_t data = 0;  // device address of the first byte, of any alignment
    std::uint64_t bytes = 0;
    std::uint64_t first_group = 0;  // number of the first group, as in add_bytes()
    std::uint64_t to = 0;           // device address of host memory, a multiple of 16, or 0 to only hash
    std::uint64_t lines = 0;        // device address of one ResultLine per block
    std::uint32_t first_block = 0;
    std::uint32_t blocks = 0;
};
static_assert(sizeof(SaveJob) == 48);

inline constexpr std::uint32_t kMostSaveJobs = 32;

/// The only parameter of the kernel. The protocol is:
///
///   host   fills a SaveLaunch by add_save_job() and launches kSaveKernel with `blocks` blocks
///   device each block hashes and copies its share, then writes a line: once the line is there, the bytes are
struct SaveLaunch {
    std::uint32_t sequence = 0;  // not 0
    std::uint32_t jobs = 0;
    std::uint32_t blocks = 0;
    std::uint32_t unused = 0;
    SaveJob job[kMostSaveJobs];
};

/// The words of a block's line: its share of the sum over all groups.
enum SavedWord : std::uint32_t { kSavedLow, kSavedHigh };

/// Returns how many blocks hash this many bytes, or also copy them. Returns at least one.
std::uint32_t blocks_to_save(std::uint64_t bytes, bool copies, const DeviceLimits& limits);

/// Returns false and changes nothing if no job fits any more. Sets the job's first block.
bool add_save_job(SaveLaunch& launch, const SaveJob& job);

/// What has arrived of a job, kept between checks.
struct Arrived {
    std::uint32_t blocks = 0;
    BytesHash sum;  // of what they hashed; finished() turns it into a hash
};

/// Returns true once all blocks have written their lines. The bytes have arrived then too.
bool look_for_blocks(const ResultLine* lines, std::uint32_t blocks, std::uint32_t sequence, Arrived& arrived);

}  // namespace aoti_dbg
