// Reads a transposed tensor in patches. In memory, the elements of its last dimension but one are neighbors,
// and those of the last dimension, which make a group, are far apart. A block loads a patch in rows of memory
// and turns it in shared memory, so that it reads each byte once.
#pragma once

#include "stats_kernels/content_hash.hpp"
#include "stats_kernels/device_block.cuh"
#include "stats_kernels/device_elements.cuh"

namespace aoti_dbg::device {

/// A row of memory: `kPatchBytes` for each index of the last dimension.
inline constexpr unsigned kChunks = kPatchBytes / 16;

__device__ inline bool is_patched() {
    return shared_job().strided_load == StridedLoad::patches;
}

/// A thread's four groups are in one row of the tensor, so that its groups of all patches are in logical
/// order. Returns the distance between two of them.
__device__ inline constexpr unsigned groups_between(unsigned bytes) {
    return kPatchColumns * bytes / 16 / kGroups;
}

/// Returns the calling thread's first group. A constant `between` saves a division.
__device__ inline std::uint64_t own_group(const Patch& patch, unsigned between) {
    return patch.group + threadIdx.x / between * patch.in_row + threadIdx.x % between;
}

__device__ inline Patch patch_of(std::uint64_t tile) {
    const DeviceJob& job = shared_job();
    const DeviceDim* dims = shared_dims();
    const DeviceDim across = dims[job.rank - 1];
    const DeviceDim along = dims[job.rank - 2];
    const unsigned in_patch = kPatchBytes / job.bytes;  // rows
    const std::uint64_t wide = static_cast<std::uint64_t>(across.size) / kPatchColumns;
    const std::uint64_t high = static_cast<std::uint64_t>(along.size) / in_patch;
    const std::uint64_t band = divide(tile, wide);
    const std::uint64_t outer = divide(band, high);
    const std::uint64_t column = (tile - band * wide) * kPatchColumns;
    const std::uint64_t row = (band - outer * high) * in_patch;
    Patch patch;
    patch.in_row = static_cast<std::uint64_t>(across.size) * job.bytes / 16;
    patch.group =
        (outer * static_cast<std::uint64_t>(along.size) + row) * patch.in_row + column * job.bytes / 16;
    patch.offset = static_cast<std::int64_t>(row) + static_cast<std::int64_t>(column) * across.stride;
    std::uint64_t rest = outer;
#pragma unroll 1
    for (int d = job.rank - 3; d >= 0; --d) {
        const auto size = static_cast<std::uint64_t>(dims[d].size);
        const std::uint64_t next = divide(rest, size);
        patch.offset += static_cast<std::int64_t>(rest - next * size) * dims[d].stride;
        rest = next;
    }
    return patch;
}

/// Neighboring threads turn elements of far columns. This spreads the columns over the banks.
__device__ inline unsigned place_in_patch(unsigned column, unsigned chunk, unsigned in_group) {
    return column * kChunks + (chunk ^ column / in_group % kChunks);
}

/// Returns the elements of a row from words that have it and its neighbors: four words of a group.
template <unsigned kBytes>
__device__ void pick_row(const unsigned (&read)[16 / kBytes], unsigned row, unsigned (&words)[4]) {
    if constexpr (kBytes == 2) {
        const unsigned halves = row % 2 == 0 ? 0x5410 : 0x7632;
#pragma unroll
        for (unsigned i = 0; i < 4; ++i)
            words[i] = __byte_perm(read[2 * i], read[2 * i + 1], halves);
    } else {
        const unsigned bytes = row % 4 * 0x11 + 0x40;
#pragma unroll
        for (unsigned i = 0; i < 4; ++i)
            words[i] = __byte_perm(__byte_perm(read[4 * i], read[4 * i + 1], bytes),
                                   __byte_perm(read[4 * i + 2], read[4 * i + 3], bytes), 0x5410);
    }
}

/// Reads a group of the turned patch from shared memory.
template <unsigned kBytes>
__device__ uint4 turned_group(unsigned row, unsigned first_column) {
    using Bits = typename ElementBits < kBytes<4 ? 4 : kBytes>::Type;
    constexpr unsigned kInGroup = 16 / kBytes;
    const unsigned chunk = row * kBytes / 16;
    unsigned words[4] = {0, 0, 0, 0};
    [[maybe_unused]] unsigned neighbors[kInGroup];
#pragma unroll
    for (unsigned i = 0; i < kInGroup; ++i) {
        const uint4* const at = &shared().staged[place_in_patch(first_column + i, chunk, kInGroup)];
        const Bits bits = reinterpret_cast<const Bits*>(at)[row % kInGroup * kBytes / sizeof(Bits)];
        if constexpr (kBytes < 4)
            neighbors[i] = bits;
        else
            put(words, i, bits);
    }
    if constexpr (kBytes < 4) pick_row<kBytes>(neighbors, row, words);
    return make_uint4(words[0], words[1], words[2], words[3]);
}

/// Turns a patch in shared memory. All have read the previous one. Afterwards, the caller must wait for all
/// threads before it changes staged groups.
template <unsigned kBytes>
__device__ __forceinline__ void turn_patch(const Patch& patch, uint4 (&groups)[kGroups]) {
    constexpr unsigned kInGroup = 16 / kBytes;
    constexpr unsigned kBetween = groups_between(kBytes);
    const DeviceJob& job = shared_job();
    const std::int64_t stride = shared_dims()[job.rank - 1].stride;
    const std::int64_t offset =
        patch.offset + threadIdx.x / kChunks * stride + threadIdx.x % kChunks * kInGroup;
    const auto* from = reinterpret_cast<const unsigned char*>(job.data) + offset * kBytes;
#pragma unroll
    for (unsigned k = 0; k < kGroups; ++k)
        groups[k] = *reinterpret_cast<const uint4*>(from + k * (kBlockThreads / kChunks * kBytes) * stride);
    if (threadIdx.x == 0) shared().patch = patch;
#pragma unroll
    for (unsigned k = 0; k < kGroups; ++k) {
        const unsigned number = threadIdx.x + k * kBlockThreads;
        shared().staged[place_in_patch(number / kChunks, number % kChunks, kInGroup)] = groups[k];
    }
    __syncthreads();
    const unsigned row = threadIdx.x / kBetween;
    const unsigned column = threadIdx.x % kBetween;
#pragma unroll
    for (unsigned k = 0; k < kGroups; ++k)
        groups[k] = turned_group<kBytes>(row, (column + k * kBetween) * kInGroup);
}

/// Keeps the calling thread's groups in shared memory, where all have read the patch.
__device__ inline void keep_groups(const uint4 (&groups)[kGroups]) {
#pragma unroll
    for (unsigned k = 0; k < kGroups; ++k)
        shared().staged[threadIdx.x + k * kBlockThreads] = groups[k];
}

/// Hashes the calling thread's groups of a turned patch.
template <unsigned kBytes>
__device__ __forceinline__ std::uint64_t hash_of_groups(const Patch& patch, const uint4 (&groups)[kGroups]) {
    constexpr unsigned kBetween = groups_between(kBytes);
    const std::uint64_t place = hash_place(own_group(patch, kBetween));
    std::uint64_t hash = 0;
#pragma unroll
    for (unsigned k = 0; k < kGroups; ++k)
        hash +=
            hash_group_at(place + k * (kBetween * kHashStep), std::uint64_t{groups[k].y} << 32U | groups[k].x,
                          std::uint64_t{groups[k].w} << 32U | groups[k].z);
    return hash;
}

/// Stages a patch. Returns the hash of the calling thread's groups, because a sweep does not know their
/// numbers.
template <unsigned kBytes>
__device__ std::uint64_t stage_patch(const Patch& patch) {
    uint4 groups[kGroups];
    __syncthreads();  // all have swept the previous patch
    turn_patch<kBytes>(patch, groups);
    __syncthreads();
    keep_groups(groups);
    return hash_of_groups<kBytes>(patch, groups);
}

__device__ std::uint64_t stage_and_hash(const Patch& patch) {
    switch (shared_job().bytes) {
        case 1:
            return stage_patch<1>(patch);
        case 2:
            return stage_patch<2>(patch);
        case 4:
            return stage_patch<4>(patch);
        case 8:
            return stage_patch<8>(patch);
        default:
            return stage_patch<16>(patch);
    }
}

/// All threads of the block call it together.
__device__ __noinline__ void stage_patch(std::uint64_t tile) {
    const std::uint64_t hash = stage_and_hash(patch_of(tile));
    if (wants(shared_job().requested, Requested::hash)) leave_hash(hash);
}

}  // namespace aoti_dbg::device
