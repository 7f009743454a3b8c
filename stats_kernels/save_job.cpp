#include "stats_kernels/save_job.hpp"

#include <algorithm>

#include "stats_kernels/launch_plan.hpp"

namespace aoti_dbg {
namespace {

// Four times 16 bytes per thread.
constexpr std::uint64_t kBytesOfTurn = std::uint64_t{kBlockThreads} * 64;
// The limit per job. The host's link is slower than any device's memory. A few blocks saturate it, and other
// streams can use the remaining multiprocessors.
constexpr std::uint64_t kMostCopyingBlocks = 64;

}  // namespace

std::uint32_t blocks_to_save(std::uint64_t bytes, bool copies, const DeviceLimits& limits) {
    const std::uint64_t most = copies ? kMostCopyingBlocks
                                      : std::max<std::uint64_t>(1, std::uint64_t{limits.multiprocessors} *
                                                                       limits.blocks_per_multiprocessor);
    return static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(bytes / kBytesOfTurn + (bytes % kBytesOfTurn != 0 ? 1 : 0), 1, most));
}

bool add_save_job(SaveLaunch& launch, const SaveJob& job) {
    if (launch.jobs == kMostSaveJobs) return false;
    SaveJob& added = launch.job[launch.jobs++];
    added = job;
    added.first_block = launch.blocks;
    launch.blocks += job.blocks;
    return true;
}

bool look_for_blocks(const ResultLine* lines, std::uint32_t blocks, std::uint32_t sequence,
                     Arrived& arrived) {
    for (LineWords words; arrived.blocks < blocks; ++arrived.blocks) {
        if (!read_line(lines[arrived.blocks], sequence, words)) return false;
        arrived.sum.low += words[kSavedLow];
        arrived.sum.high += words[kSavedHigh];
    }
    return true;
}

}  // namespace aoti_dbg
