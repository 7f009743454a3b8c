// From what the threads of a block know to the tensor's result: the block's total, the last block's merge of
// all totals, and the write to the host's memory.
#pragma once

#include "stats_kernels/device_load.cuh"

namespace aoti_dbg::device {

/// A thread's knowledge of a part becomes its warp's, in shared memory. The turns are those in which it saw
/// the extremes first.
__device__ __forceinline__ void leave_here(const Known& known, unsigned part, unsigned minimum_turn,
                                           unsigned maximum_turn) {
    Located merged;
    merged.known = merge_lanes(known);
    if (wants(shared_job().wanted, Wanted::indices) && merged.known.count > 0) {
        const bool has_minimum = known.count > 0 && known.minimum_key == merged.known.minimum_key;
        const bool has_maximum = known.count > 0 && known.maximum_key == merged.known.maximum_key;
        merged.minimum_index = index_of_extreme(has_minimum, minimum_turn, part, merged.known.minimum_key);
        merged.maximum_index = index_of_extreme(has_maximum, maximum_turn, part, merged.known.maximum_key);
    }
    if (threadIdx.x % 32 == 0) left_by_warp(part, threadIdx.x / 32) = merged;
}

/// One function for most sweeps, where a call costs less than the code would. By value: what is passed so
/// stays in registers.
__device__ __noinline__ void leave(Known known, unsigned part, unsigned minimum_turn, unsigned maximum_turn) {
    leave_here(known, part, minimum_turn, maximum_turn);
}

__device__ inline void leave_hash(std::uint64_t hash) {
    __syncwarp();
    hash = sum_of_lanes(hash);
    if (threadIdx.x % 32 == 0) shared().hashes[threadIdx.x / 32] += hash;
}

/// By one thread, from what the block knows and has put into shared().
__device__ inline void write_total(const Located& all, const Specials& specials, PartialStatistics& total) {
    const Known& known = all.known;
    total = PartialStatistics{};
    total.nan = specials.nan;
    total.positive_infinity = specials.positive_infinity;
    total.negative_infinity = specials.negative_infinity;
    total.first_nan = specials.first_nan;
    total.first_positive_infinity = specials.first_positive_infinity;
    total.first_negative_infinity = specials.first_negative_infinity;
    if (known.count == 0) return;
    const double mean_distance = known.sum * reciprocal(known.count);
    const double m2 = known.squares - known.sum * mean_distance;
    total.finite = static_cast<std::uint64_t>(known.count);
    total.mean = known.reference + mean_distance;
    total.m2 = m2 < 0 ? 0 : (m2 == m2 ? m2 : INFINITY);
    total.zeros = known.zeros;
    total.minimum_key = known.minimum_key;
    total.maximum_key = known.maximum_key;
    total.minimum_index = all.minimum_index;
    total.maximum_index = all.maximum_index;
    total.sum_low = known.sum_low;
    total.sum_high = known.sum_high;
}

/// Between a block and the last one, or a result and the host: shared_total() to `to`, by the first warp.
__device__ inline void write_by_warp(TensorPartial* to) {
    constexpr unsigned kVectors = sizeof(PartialStatistics) / 16;
    const std::uint64_t* words = shared().total_words + 2 * threadIdx.x;
    if (threadIdx.x < (is_complex(shared_job().dtype) ? 2 * kVectors : kVectors))
        reinterpret_cast<ulonglong2*>(to)[threadIdx.x] = make_ulonglong2(words[0], words[1]);
    else if (threadIdx.x == 31)
        to->hash = shared_total().hash;
}

/// Where blocks leave their totals; aligned for vectors.
__device__ inline TensorPartial* total_in(const StatisticsLaunch& launch, unsigned block) {
    return &(reinterpret_cast<DeviceResult*>(launch.scratch + kScratchCounterBytes) + block)->partial;
}

/// By the first warp: the block's total for the last one, which learns here that it is. A fence for both
/// sides is in the one instruction.
__device__ inline void hand_over(const StatisticsLaunch& launch) {
    write_by_warp(total_in(launch, blockIdx.x));
    __syncwarp();
    if (threadIdx.x != 0) return;
    // Wraps around to zero with the last block: the next launch finds it as this one did.
    const unsigned last = shared_job().blocks - 1;
    const std::uint64_t counter = launch.scratch + std::uint64_t{shared().job_number} * sizeof(unsigned);
    unsigned before = 0;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
    asm volatile("atom.acq_rel.gpu.global.inc.u32 %0, [%1], %2;"
                 : "=r"(before)
                 : "l"(counter), "r"(last)
                 : "memory");
#endif
    shared().is_last = before == last ? 1 : 0;
}

__device__ inline void take_specials(const PartialStatistics& total, unsigned part) {
    if ((total.nan | total.positive_infinity | total.negative_infinity) == 0) return;
    Specials& specials = shared().specials[part];
    atomicAdd(&specials.nan, static_cast<unsigned long long>(total.nan));
    atomicAdd(&specials.positive_infinity, static_cast<unsigned long long>(total.positive_infinity));
    atomicAdd(&specials.negative_infinity, static_cast<unsigned long long>(total.negative_infinity));
    atomicMin(&specials.first_nan, static_cast<unsigned long long>(total.first_nan));
    atomicMin(&specials.first_positive_infinity,
              static_cast<unsigned long long>(total.first_positive_infinity));
    atomicMin(&specials.first_negative_infinity,
              static_cast<unsigned long long>(total.first_negative_infinity));
}

/// A part of what another block has left, past this multiprocessor's cache.
__device__ inline Located read_total(const TensorPartial* from, unsigned part) {
    PartialStatistics total;
    std::uint64_t words[sizeof(total) / 8];
#pragma unroll
    for (unsigned i = 0; i < sizeof(total) / 16; ++i) {
        const ulonglong2 pair = __ldcg(reinterpret_cast<const ulonglong2*>(&from->parts[part]) + i);
        words[2 * i] = pair.x;
        words[2 * i + 1] = pair.y;
    }
    memcpy(&total, words, sizeof(total));
    take_specials(total, part);
    return {{static_cast<double>(total.finite), total.mean, 0, total.m2, total.zeros, total.minimum_key,
             total.maximum_key, total.sum_low, total.sum_high},
            total.minimum_index,
            total.maximum_index};
}

/// So many blocks' totals that a warp does not do become what the warps of the last one know.
__device__ __noinline__ void gather_totals(const TensorPartial* totals) {
    const unsigned blocks = shared_job().blocks;
    const unsigned parts = is_complex(shared_job().dtype) ? 2 : 1;
    std::uint64_t hash = 0;
#pragma unroll 1
    for (unsigned part = 0; part < parts; ++part) {
        Located own;
#pragma unroll 1
        for (unsigned block = threadIdx.x; block < blocks; block += kBlockThreads) {
            const auto* total = reinterpret_cast<const DeviceResult*>(totals) + block;
            absorb(own, read_total(&total->partial, part));
            if (part == 0) hash += __ldcg(reinterpret_cast<const unsigned long long*>(&total->partial.hash));
        }
        own = merge_located(own);
        if (threadIdx.x % 32 == 0) left_by_warp(part, threadIdx.x / 32) = own;
    }
    leave_hash(hash);
}

/// By the first warp, into shared_total(), for this warp to see: of what the block's warps have left, or of
/// what up to 32 blocks have, in `totals`.
__device__ __forceinline__ void total_of_all(const TensorPartial* totals, unsigned blocks) {
    const unsigned lane = threadIdx.x;
    const unsigned parts = is_complex(shared_job().dtype) ? 2 : 1;
    const TensorPartial* from = &(reinterpret_cast<const DeviceResult*>(totals) + lane)->partial;
    std::uint64_t hash = 0;
    if (totals == nullptr && lane < kWarps) hash = shared().hashes[lane];
    if (lane < blocks) hash = __ldcg(reinterpret_cast<const unsigned long long*>(&from->hash));
#pragma unroll 1
    for (unsigned part = 0; part < parts; ++part) {
        Located own;
        if (totals == nullptr && lane < kWarps) own = left_by_warp(part, lane);
        if (lane < blocks) own = read_total(from, part);
        __syncwarp();
        own = merge_located(own);
        if (lane == 0) write_total(own, shared().specials[part], shared_total().parts[part]);
    }
    if (wants(shared_job().wanted, Wanted::hash)) hash = sum_of_lanes(hash);
    if (lane == 0) shared_total().hash = hash;
    __syncwarp();
}

/// By the first warp. Whole before its number is: the host looks at nothing else until it sees that.
__device__ inline void publish(const StatisticsLaunch& launch) {
    auto* result = reinterpret_cast<DeviceResult*>(shared_job().result);
    write_by_warp(&result->partial);
    __threadfence_system();
    __syncwarp();
    if (threadIdx.x == 0) *const_cast<volatile std::uint32_t*>(&result->sequence) = launch.sequence;
}

}  // namespace aoti_dbg::device
