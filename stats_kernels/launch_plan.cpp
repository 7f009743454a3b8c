// A block reads 16 KiB in about a microsecond, and all blocks of a launch read at once. So small tensors get
// a block per 16 KiB. But the host adds up the lines of every block, and finishing a block costs as much as
// several tiles. Beyond a limit, each block must read enough to be worth that cost.
#include "stats_kernels/launch_plan.hpp"

#include <algorithm>

namespace aoti_dbg {

namespace {

/// The bytes that a block reads per turn: four times 16 bytes per thread.
constexpr std::uint64_t kTileBytes = std::uint64_t{kBlockThreads} * 64;

/// Up to this number of blocks may have one tile each. With more blocks, each has at least eight.
constexpr std::uint64_t kBlocksOfOneTile = 64;
constexpr std::uint64_t kTilesOfBlock = 8;
constexpr std::uint64_t kMostBlocks = 4096;

std::uint64_t tiles_of(DType dtype, std::uint64_t count, Requested requested) {
    // Such a dtype has neither NaN nor Inf to count.
    if (is_always_finite(dtype) &&
        !wants(requested, Requested::printed | Requested::indices | Requested::hash))
        return 0;
    const std::uint64_t group = 16 / element_size(dtype);
    const std::uint64_t groups = count / group + (count % group != 0 ? 1 : 0);
    return groups / (kTileBytes / 16) + (groups % (kTileBytes / 16) != 0 ? 1 : 0);
}

/// Returns whether each aligned group of 16 bytes lies within a row and is aligned if the first one is.
bool is_in_groups(const Layout& layout, DType dtype) {
    const std::int64_t group = 16 / element_size(dtype);
    const std::uint32_t inner = layout.rank - 1;
    if (layout.strides[inner] != 1 || layout.sizes[inner] % group != 0) return false;
    return std::all_of(layout.strides, layout.strides + inner,
                       [group](std::int64_t stride) { return stride % group == 0; });
}

/// Returns whether whole patches of a transposed tensor cover it, and each column of a patch is aligned if
/// the first one is.
bool is_in_patches(const Layout& layout, DType dtype) {
    if (layout.rank < 2) return false;
    const std::int64_t bytes = element_size(dtype);
    const std::uint32_t across = layout.rank - 1;
    const std::uint32_t along = layout.rank - 2;
    if (layout.strides[along] != 1 || layout.sizes[along] * bytes % kPatchBytes != 0) return false;
    if (layout.sizes[across] == 0 || layout.sizes[across] % kPatchColumns != 0) return false;
    return std::all_of(layout.strides, layout.strides + layout.rank, [&](const std::int64_t& stride) {
        return &stride == layout.strides + along || stride * bytes % 16 == 0;
    });
}

StridedLoad strided_load_of(const Layout& layout, const TensorView& tensor) {
    if (is_in_groups(layout, tensor.dtype)) return StridedLoad::groups;
    const bool is_plain = !tensor.bits.any();
    return is_plain && is_in_patches(layout, tensor.dtype) ? StridedLoad::patches : StridedLoad::elements;
}

}  // namespace

std::uint32_t blocks_for(DType dtype, std::uint64_t count, Requested requested, const DeviceLimits& limits) {
    const std::uint64_t capacity = std::uint64_t{limits.multiprocessors} * limits.blocks_per_multiprocessor;
    const std::uint64_t tiles = tiles_of(dtype, count, requested);
    const std::uint64_t worth_while = std::max(kBlocksOfOneTile, tiles / kTilesOfBlock);
    const std::uint64_t blocks = std::min({tiles, worth_while, capacity, kMostBlocks});
    return static_cast<std::uint32_t>(std::max<std::uint64_t>(blocks, 1));
}

TensorJob prepare_job(const TensorView& tensor, Requested requested) {
    const std::uint64_t count = element_count(tensor.sizes);
    const bool in_logical_order =
        depends_on_order(requested) || value_bytes(tensor.dtype, requested, count) > 0;
    const Layout layout = in_logical_order ? collapse(tensor.sizes, tensor.strides)
                                           : collapse_in_memory_order(tensor.sizes, tensor.strides);
    const std::uint32_t rank = layout.is_contiguous() ? 0 : layout.rank;
    TensorJob prepared;
    prepared.job.count = count;
    prepared.job.rank = static_cast<std::uint8_t>(rank);
    if (rank > 0) prepared.job.strided_load = strided_load_of(layout, tensor);
    prepared.job.bytes = static_cast<std::uint8_t>(element_size(tensor.dtype));
    prepared.job.dtype = tensor.dtype;
    prepared.job.bits = tensor.bits;
    for (std::uint32_t d = 0; d < rank; ++d)
        prepared.dims.push_back({layout.sizes[d], layout.strides[d]});
    return prepared;
}

bool add_job(StatisticsLaunch& launch, const TensorJob& prepared, Requested requested, std::uint64_t data,
             std::uint32_t blocks, std::uint64_t lines) {
    if (launch.jobs >= kMostJobs || kMostLaunchDims - launch.dims < prepared.dims.size()) return false;
    DeviceJob& job = launch.job[launch.jobs++];
    job = prepared.job;
    job.requested = requested;
    job.data = data;
    job.lines = lines;
    job.first_block = launch.blocks;
    job.blocks = blocks;
    job.first_dim = static_cast<std::uint8_t>(launch.dims);
    if (data % 16 != 0) job.strided_load = StridedLoad::elements;
    for (const DeviceDim& dim : prepared.dims)
        launch.dim[launch.dims++] = dim;
    launch.blocks += blocks;
    return true;
}

bool add_job(StatisticsLaunch& launch, const TensorView& tensor, Requested requested, std::uint32_t blocks,
             std::uint64_t lines) {
    return add_job(launch, prepare_job(tensor, requested), requested,
                   reinterpret_cast<std::uint64_t>(tensor.data), blocks, lines);
}

ResultShape shape_of(const TensorView& tensor, Requested requested, std::uint32_t blocks) {
    return {blocks, tensor.dtype, requested,
            value_bytes(tensor.dtype, requested, element_count(tensor.sizes))};
}

}  // namespace aoti_dbg
