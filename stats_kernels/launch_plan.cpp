// A launch costs the same whatever it reads, and a block that reads 16 KiB is done in about a microsecond:
// small tensors get a block for each 16 KiB, so that all of them are read at the same time. But a block's end
// costs as much as several tiles, and the merge of many blocks more than that of few: beyond two blocks a
// multiprocessor each has to be worth its end. The device's capacity is the bound, in proportion.
#include "stats_kernels/launch_plan.hpp"

namespace aoti_dbg {

namespace {

/// What a block reads in one turn: four times 16 bytes a thread.
constexpr std::uint64_t kTileBytes = std::uint64_t{kBlockThreads} * 64;

std::uint64_t tiles_of(const DeviceJob& job) {
    // Nothing is wanted but what integers cannot have.
    if (is_integer(job.dtype) && !wants(job.wanted, Wanted::printed | Wanted::indices | Wanted::hash))
        return 0;
    const std::uint64_t group = 16 / element_size(job.dtype);
    const std::uint64_t groups = job.count / group + (job.count % group != 0 ? 1 : 0);
    return groups / (kTileBytes / 16) + (groups % (kTileBytes / 16) != 0 ? 1 : 0);
}

/// Tiles that make one more block worth while.
constexpr std::uint64_t kTilesOfBlock = 8;
/// Blocks of a tensor that one warp merges, and how many more are not worth the others' help.
constexpr std::uint64_t kOneWarp = 32;
constexpr std::uint64_t kLittleMore = 48;

std::uint64_t capacity_of(const DeviceLimits& limits) {
    const std::uint64_t capacity = std::uint64_t{limits.multiprocessors} * limits.blocks_per_multiprocessor;
    return capacity > 0 ? capacity : 1;
}

/// Of all jobs together.
std::uint64_t blocks_for(std::uint64_t tiles, const DeviceLimits& limits) {
    const std::uint64_t capacity = capacity_of(limits);
    const std::uint64_t at_once = std::uint64_t{limits.multiprocessors} * 2;
    const std::uint64_t blocks = tiles / kTilesOfBlock > at_once ? tiles / kTilesOfBlock : at_once;
    return blocks < capacity ? blocks : capacity;
}

}  // namespace

JobTable near_table(StatisticsLaunch& launch) {
    JobTable table;
    table.jobs = launch.near_jobs;
    table.dims = launch.near_dims;
    return table;
}

bool add_job(JobTable& table, const TensorView& tensor, Wanted wanted, std::uint64_t result) {
    const Layout layout = depends_on_order(wanted) ? collapse(tensor.sizes, tensor.strides)
                                                   : collapse_in_memory_order(tensor.sizes, tensor.strides);
    const std::uint32_t rank = layout.is_contiguous() ? 0 : layout.rank;
    if (table.used_jobs >= table.jobs.size() || table.used_jobs >= kMaxJobs) return false;
    if (table.dims.size() - table.used_dims < rank) return false;
    DeviceJob& job = table.jobs[table.used_jobs];
    job = DeviceJob{};
    job.data = reinterpret_cast<std::uint64_t>(tensor.data);
    job.count = element_count(tensor.sizes);
    job.result = result;
    job.first_dim = table.used_dims;
    job.dtype = tensor.dtype;
    job.wanted = wanted;
    job.rank = static_cast<std::uint8_t>(rank);
    job.bytes = static_cast<std::uint8_t>(element_size(tensor.dtype));
    for (std::uint32_t d = 0; d < rank; ++d)
        table.dims[table.used_dims + d] = DeviceDim{layout.sizes[d], layout.strides[d]};
    ++table.used_jobs;
    table.used_dims += rank;
    return true;
}

std::uint32_t plan_launch(std::span<DeviceJob> jobs, const DeviceLimits& limits) {
    std::uint64_t tiles = 0;
    for (const DeviceJob& job : jobs) {
        const std::uint64_t more = tiles_of(job);
        tiles = more > UINT64_MAX - tiles ? UINT64_MAX : tiles + more;
    }
    const std::uint64_t all_blocks = blocks_for(tiles, limits);
    std::uint32_t next = 0;
    for (DeviceJob& job : jobs) {
        std::uint64_t blocks = tiles_of(job);
        if (tiles > all_blocks) {
            const double share = static_cast<double>(blocks) / static_cast<double>(tiles);
            const auto dealt = static_cast<std::uint64_t>(share * static_cast<double>(all_blocks));
            if (dealt < blocks) blocks = dealt;
        }
        if (blocks > kOneWarp && blocks <= kLittleMore) blocks = kOneWarp;
        if (blocks == 0) blocks = 1;  // a result is due from a tensor without elements too
        job.first_block = next;
        job.blocks = static_cast<std::uint32_t>(blocks);
        next += job.blocks;
    }
    return next;
}

std::uint32_t most_blocks(std::uint32_t jobs, const DeviceLimits& limits) {
    return static_cast<std::uint32_t>(capacity_of(limits)) + jobs;
}

}  // namespace aoti_dbg
