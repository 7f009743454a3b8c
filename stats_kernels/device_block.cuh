// What the threads of a block share, and how they become one partial result. Every function here is called by
// all threads of the block.
#pragma once

#include "stats_kernels/device_job.hpp"

namespace aoti_dbg::device {

inline constexpr unsigned kAllLanes = 0xffffffffU;
inline constexpr unsigned kWarps = kBlockThreads / 32;

/// What is not finite is rare: its counts are added up here at once, and cost the threads no registers.
struct Specials {
    unsigned long long nan;
    unsigned long long positive_infinity;
    unsigned long long negative_infinity;
    unsigned long long first_nan;
    unsigned long long first_positive_infinity;
    unsigned long long first_negative_infinity;
};

struct Shared {
    std::uint64_t job_words[sizeof(DeviceJob) / 8];
    std::uint64_t dim_words[kMaxRank * sizeof(DeviceDim) / 8];
    std::uint64_t warp_words[kWarps][sizeof(PartialStatistics) / 8];
    std::uint64_t total_words[sizeof(TensorPartial) / 8];
    unsigned long long hash;
    Specials specials[2];
    float float8[256];
    unsigned job_number;
    unsigned is_last;
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

__device__ inline TensorPartial& shared_total() {
    return *reinterpret_cast<TensorPartial*>(shared().total_words);
}

__device__ inline void clear_specials() {
    if (threadIdx.x < 2) shared().specials[threadIdx.x] = Specials{0, 0, 0, kNoIndex, kNoIndex, kNoIndex};
    if (threadIdx.x == 2) shared().hash = 0;
}

template <typename T>
__device__ T sum_of_lanes(T value, unsigned lanes) {
    for (unsigned step = lanes / 2; step > 0; step /= 2)
        value += __shfl_xor_sync(kAllLanes, value, step);
    return value;
}

__device__ inline std::uint64_t least_of_lanes(unsigned long long value, unsigned lanes) {
    for (unsigned step = lanes / 2; step > 0; step /= 2) {
        const unsigned long long other = __shfl_xor_sync(kAllLanes, value, step);
        value = other < value ? other : value;
    }
    return value;
}

__device__ inline std::uint64_t count_of_lanes(std::uint64_t value, unsigned lanes) {
    return sum_of_lanes(static_cast<unsigned long long>(value), lanes);
}

/// Each group of `lanes` neighbours ends with the merge of their parts. The moments go in two sums around the
/// common mean, which is shorter than a chain of pairwise merges with a division each.
__device__ __noinline__ void merge_lanes(PartialStatistics& part, unsigned lanes, bool integers,
                                         bool indices) {
    const std::uint64_t finite = count_of_lanes(part.finite, lanes);
    const auto own = static_cast<double>(part.finite);
    const double mean =
        sum_of_lanes(finite > 0 ? part.mean * (own / static_cast<double>(finite)) : 0.0, lanes);
    const double distance = part.mean - mean;
    part.m2 = sum_of_lanes(part.finite > 0 ? part.m2 + own * distance * distance : 0.0, lanes);
    part.mean = mean;
    part.finite = finite;
    part.zeros = count_of_lanes(part.zeros, lanes);
    const std::uint64_t minimum = least_of_lanes(part.minimum_key, lanes);
    const std::uint64_t maximum = ~least_of_lanes(~part.maximum_key, lanes);
    if (indices) {
        part.minimum_index =
            least_of_lanes(part.minimum_key == minimum ? part.minimum_index : kNoIndex, lanes);
        part.maximum_index =
            least_of_lanes(part.maximum_key == maximum ? part.maximum_index : kNoIndex, lanes);
    }
    part.minimum_key = minimum;
    part.maximum_key = maximum;
    if (integers) {
        for (unsigned step = lanes / 2; step > 0; step /= 2) {
            const auto low = static_cast<unsigned long long>(part.sum_low);
            const auto high = static_cast<unsigned long long>(part.sum_high);
            const std::uint64_t other_low = __shfl_xor_sync(kAllLanes, low, step);
            const std::uint64_t other_high = __shfl_xor_sync(kAllLanes, high, step);
            add_to_sum(part, other_low, other_high);
        }
    }
    const bool special = (part.nan | part.positive_infinity | part.negative_infinity) != 0;
    if (__any_sync(kAllLanes, special)) {
        part.nan = count_of_lanes(part.nan, lanes);
        part.positive_infinity = count_of_lanes(part.positive_infinity, lanes);
        part.negative_infinity = count_of_lanes(part.negative_infinity, lanes);
        part.first_nan = least_of_lanes(part.first_nan, lanes);
        part.first_positive_infinity = least_of_lanes(part.first_positive_infinity, lanes);
        part.first_negative_infinity = least_of_lanes(part.first_negative_infinity, lanes);
    }
}

/// Thread 0 ends with the merge of all threads' parts.
__device__ inline void merge_block(PartialStatistics& part, bool integers, bool indices) {
    merge_lanes(part, 32, integers, indices);
    auto* warps = reinterpret_cast<PartialStatistics*>(shared().warp_words);
    __syncthreads();
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = part;
    __syncthreads();
    if (threadIdx.x < 32) {
        part = threadIdx.x < kWarps ? warps[threadIdx.x] : PartialStatistics{};
        merge_lanes(part, kWarps, integers, indices);
    }
}

/// Leaves the merge in shared_total(), seen by all threads.
__device__ inline void total_of_block(PartialStatistics* parts, unsigned long long hash,
                                      const DeviceJob& job) {
    const bool integers = is_integer(job.dtype);
    const bool indices = depends_on_order(job.wanted);
    merge_block(parts[0], integers, indices);
    if (is_complex(job.dtype)) merge_block(parts[1], integers, indices);
    if (wants(job.wanted, Wanted::hash)) {
        hash = sum_of_lanes(hash, 32);
        if (threadIdx.x % 32 == 0) atomicAdd(&shared().hash, hash);
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        shared_total().parts[0] = parts[0];
        shared_total().parts[1] = parts[1];
        shared_total().hash = shared().hash;
    }
    __syncthreads();
}

}  // namespace aoti_dbg::device
