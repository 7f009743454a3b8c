// The shared memory of a block, and how its threads' results merge. A launch over small tensors is bound by
// latency, so lanes merge in parallel, with reduction instructions where the device has them.
#pragma once

#include "stats_kernels/device_job.hpp"
#include "stats_kernels/device_lanes.cuh"

namespace aoti_dbg::device {

__extension__ using SignedWide = __int128;

/// The statistics of a part of a tensor, as known to a thread, warp or block. Sums can be added once their
/// references are equal. Double absorbs a reference that is not far outside of the numbers.
struct Known {
    std::uint64_t count = 0;  // finite elements
    double reference = 0;
    double sum = 0;  // of distances from the reference
    double squares = 0;
    std::uint64_t zeros = 0;
    std::uint64_t minimum_key = UINT64_MAX;
    std::uint64_t maximum_key = 0;
    std::uint64_t sum_low = 0;  // of integers
    std::uint64_t sum_high = 0;
};

/// The result of a warp in shared memory.
struct Located {
    Known known;
    std::uint64_t minimum_index = kNoIndex;
    std::uint64_t maximum_index = kNoIndex;
};

/// Counts of NaN and Inf. They are rare, so they are added here directly and cost the threads no registers.
struct Specials {
    unsigned long long nan;
    unsigned long long positive_infinity;
    unsigned long long negative_infinity;
    unsigned long long first_nan;
    unsigned long long first_positive_infinity;
    unsigned long long first_negative_infinity;
};

/// Part of a transposed tensor (device_patch.cuh).
struct Patch {
    std::int64_t offset;   // of the first element, in elements
    std::uint64_t group;   // the first group
    std::uint64_t in_row;  // groups of the tensor in a row
};

/// Of turns, each found by one lane of a warp.
inline constexpr unsigned kPatchesAhead = 32;

/// Moments, specials and places for both parts of a complex tensor.
inline constexpr unsigned kMostLinesOfBlock = 6;

struct Shared {
    std::uint64_t job_words[sizeof(DeviceJob) / 8];
    std::uint64_t dim_words[kMostDims * sizeof(DeviceDim) / 8];
    std::uint64_t warp_words[2][kWarps][sizeof(Located) / 8];  // for both parts
    std::uint64_t kept_words[2][kWarps][sizeof(Located) / 8];  // of all tiles so far, if they are staged
    std::uint64_t line_words[kMostLinesOfBlock][kLineWords];
    unsigned long long hashes[kWarps];
    Specials specials[2];
    float float8[256];
    uint4 staged[kBlockThreads * 4];  // for tensors that vector loads cannot read
    Patch patch;                      // the staged one
    Patch next_patches[kPatchesAhead];
    uint4 end;  // elements after the last whole group, if this block has them
};

__device__ inline Shared& shared() {
    __shared__ uint4 bytes[(sizeof(Shared) + 15) / 16];
    return *reinterpret_cast<Shared*>(bytes);
}

__device__ inline const DeviceJob& shared_job() {
    return *reinterpret_cast<const DeviceJob*>(shared().job_words);
}

__device__ inline const DeviceDim* shared_dims() {
    return reinterpret_cast<const DeviceDim*>(shared().dim_words);
}

__device__ inline Located& left_by_warp(unsigned part, unsigned warp) {
    return *reinterpret_cast<Located*>(shared().warp_words[part][warp]);
}

__device__ inline Located& kept_of_warp(unsigned part, unsigned warp) {
    return *reinterpret_cast<Located*>(shared().kept_words[part][warp]);
}

/// The first threads of a block clear the counters.
__device__ inline void clear_findings() {
    if (threadIdx.x < 2) shared().specials[threadIdx.x] = Specials{0, 0, 0, kNoIndex, kNoIndex, kNoIndex};
    if (threadIdx.x < kWarps) shared().hashes[threadIdx.x] = 0;
}

__device__ inline void leave_hash(std::uint64_t hash) {
    __syncwarp();
    hash = sum_of_lanes(hash);
    if (threadIdx.x % 32 == 0) shared().hashes[threadIdx.x / 32] += hash;
}

/// Returns 1 / value except for the last bit, without the division subroutine.
__device__ inline double reciprocal(double value) {
    double guess;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(guess) : "d"(value));
    guess *= fma(-value, guess, 2.0);
    return guess * fma(-value, guess, 2.0);
}

/// Works in any order. One thread calls it.
__device__ inline void absorb(Located& into, const Located& other) {
    Known& known = into.known;
    if (other.known.count == 0) return;
    if (known.count == 0) {
        into = other;
        return;
    }
    const auto settle = [](const Known& from, double& mean, double& m2) {
        const double distance = from.sum * reciprocal(static_cast<double>(from.count));
        m2 = fmax(from.squares - from.sum * distance, 0.0);
        mean = from.reference + distance;
    };
    double mean = 0;
    double m2 = 0;
    settle(known, known.reference, known.squares);
    settle(other.known, mean, m2);
    auto count = static_cast<double>(known.count);
    merge_moments(count, known.reference, known.squares, static_cast<double>(other.known.count), mean, m2);
    known.count += other.known.count;
    known.sum = 0;
    known.zeros += other.known.zeros;
    if (other.known.minimum_key < known.minimum_key) into.minimum_index = kNoIndex;
    if (other.known.minimum_key <= known.minimum_key) {
        known.minimum_key = other.known.minimum_key;
        take_lower(into.minimum_index, other.minimum_index);
    }
    if (other.known.maximum_key > known.maximum_key) into.maximum_index = kNoIndex;
    if (other.known.maximum_key >= known.maximum_key) {
        known.maximum_key = other.known.maximum_key;
        take_lower(into.maximum_index, other.maximum_index);
    }
    known.sum_low += other.known.sum_low;
    known.sum_high += other.known.sum_high + (known.sum_low < other.known.sum_low ? 1 : 0);
}

/// Sums of numbers near the end of double's range overflow, but their mean need not.
__device__ inline void merge_moments_beyond_range(Known& known, const Known& own) {
    const auto count = static_cast<double>(own.count);
    double mean = own.count > 0 ? own.reference + own.sum * reciprocal(count) : 0.0;
    mean *= count * reciprocal(static_cast<double>(known.count));
    for (unsigned step = 16; step > 0; step /= 2)
        mean += __shfl_xor_sync(kAllLanes, mean, step);
    known.reference = mean;
    known.sum = 0;
    known.squares = INFINITY;
}

/// Merges the results of the first kLanes, a power of two. The other lanes have no numbers. All of them get
/// the result.
template <unsigned kLanes>
__device__ __forceinline__ Known merge_lanes(const Known& own) {
    __syncwarp();  // reconverge, because shuffles among diverged lanes are slow
    const unsigned there = __ballot_sync(kAllLanes, own.count > 0);
    if (there == 0) return own;
    Known known = own;
    known.reference = __shfl_sync(kAllLanes, own.reference, __ffs(static_cast<int>(there)) - 1);
    if (own.count > 0) {
        const double distance = own.reference - known.reference;
        known.sum = fma(static_cast<double>(own.count), distance, own.sum);
        known.squares = fma(distance, known.sum + own.sum, own.squares);
    }
#pragma unroll
    for (unsigned step = kLanes / 2; step > 0; step /= 2) {
        known.sum += __shfl_xor_sync(kAllLanes, known.sum, step);
        known.squares += __shfl_xor_sync(kAllLanes, known.squares, step);
    }
    known.count = sum_of_lanes(own.count);
    known.zeros = sum_of_lanes(own.zeros);
    known.minimum_key = least_of_lanes(own.minimum_key);
    known.maximum_key = ~least_of_lanes(~own.maximum_key);
    if (is_integer(shared_job().dtype)) {
        const Wide low = wide_sum_of_lanes(own.sum_low);
        known.sum_low = static_cast<std::uint64_t>(low);
        known.sum_high = sum_of_lanes(own.sum_high) + static_cast<std::uint64_t>(low >> 64U);
    }
    if (__any_sync(kAllLanes, !(fabs(known.sum) <= 0x1.fffffffffffffp1023)))
        merge_moments_beyond_range(known, own);
    return known;
}

/// Merges the results of a block's warps.
__device__ __forceinline__ Located merge_warps(const Located& own) {
    Located merged;
    merged.known = merge_lanes<kWarps>(own.known);
    if (!wants(shared_job().requested, Requested::indices)) return merged;
    __syncwarp();
    // Use only lanes with the extreme of all lanes.
    const bool has_minimum = own.known.minimum_key == merged.known.minimum_key;
    const bool has_maximum = own.known.maximum_key == merged.known.maximum_key;
    merged.minimum_index = least_of_lanes(has_minimum ? own.minimum_index : kNoIndex);
    merged.maximum_index = least_of_lanes(has_maximum ? own.maximum_index : kNoIndex);
    return merged;
}

}  // namespace aoti_dbg::device
