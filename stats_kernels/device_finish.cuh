// Turns the results of a block's threads into its lines in host memory (result_lines.hpp).
#pragma once

#include "stats_kernels/device_load.cuh"

namespace aoti_dbg::device {

/// Merges the threads' results for a part into their warp's, in shared memory. The turns are those in which
/// each thread first saw the extremes.
__device__ __forceinline__ void leave_here(const Known& known, unsigned part, unsigned minimum_turn,
                                           unsigned maximum_turn) {
    Located merged;
    merged.known = merge_lanes<32>(known);
    if (wants(shared_job().requested, Requested::indices) && merged.known.count > 0) {
        // What earlier tiles exceed needs no index.
        const Known* const kept = is_patched() ? &kept_of_warp(part, threadIdx.x / 32).known : nullptr;
        const bool has_minimum = known.count > 0 && known.minimum_key == merged.known.minimum_key;
        const bool has_maximum = known.count > 0 && known.maximum_key == merged.known.maximum_key;
        if (kept == nullptr || merged.known.minimum_key <= kept->minimum_key)
            merged.minimum_index =
                index_of_extreme(has_minimum, minimum_turn, part, merged.known.minimum_key);
        if (kept == nullptr || merged.known.maximum_key >= kept->maximum_key)
            merged.maximum_index =
                index_of_extreme(has_maximum, maximum_turn, part, merged.known.maximum_key);
    }
    if (threadIdx.x % 32 == 0) left_by_warp(part, threadIdx.x / 32) = merged;
}

/// Most sweeps share this function, because a call costs less than the code. Parameters by value stay in
/// registers.
__device__ __noinline__ void leave(Known known, unsigned part, unsigned minimum_turn, unsigned maximum_turn) {
    leave_here(known, part, minimum_turn, maximum_turn);
}

/// The extremes of a thread's numbers and the turns in which they first occurred. Initial values must be
/// beyond all numbers, unless the first numbers come with `is_first`.
template <typename T>
struct Extremes {
    T minimum;
    T maximum;
    unsigned minimum_turn = 0;
    unsigned maximum_turn = 0;

    /// Turns come in logical order, so the first one that has an extreme keeps it.
    __device__ void add(T least, T most, unsigned turn, bool is_first = false) {
        if (is_first || least < minimum) {
            minimum = least;
            minimum_turn = turn;
        }
        if (is_first || most > maximum) {
            maximum = most;
            maximum_turn = turn;
        }
    }
};

/// One thread converts the block's result for a part to the words of its lines.
__device__ inline void write_words(const Located& all, const Specials& specials, std::uint64_t hash,
                                   std::uint64_t (*lines)[kLineWords]) {
    const DeviceJob& job = shared_job();
    const Known& known = all.known;
    const double mean_distance =
        known.count > 0 ? known.sum * reciprocal(static_cast<double>(known.count)) : 0.0;
    const double m2 = known.squares - known.sum * mean_distance;
    const bool has_specials = (specials.nan | specials.positive_infinity | specials.negative_infinity) != 0;
    std::uint64_t* line = *lines++;
    line[kFinite] = known.count;
    line[kMean] = bits_of_double(known.reference + mean_distance);
    line[kM2] = bits_of_double(m2 < 0 ? 0.0 : (m2 == m2 ? m2 : INFINITY));
    line[kZeros] = known.zeros;
    line[kMinimumKey] = known.minimum_key;
    line[kMaximumKey] = known.maximum_key;
    line[kFlags] = has_specials ? kHasSpecials : 0;
    if (has_special_lines(job.dtype)) {
        line = *lines++;
        line[kNan] = specials.nan;
        line[kPositive] = specials.positive_infinity;
        line[kNegative] = specials.negative_infinity;
        line[kFirstNan] = specials.first_nan;
        line[kFirstPositive] = specials.first_positive_infinity;
        line[kFirstNegative] = specials.first_negative_infinity;
        line[kLineWords - 1] = 0;
    }
    if (has_place_lines(job.dtype, job.requested)) {
        line = *lines;
        line[kMinimumIndex] = all.minimum_index;
        line[kMaximumIndex] = all.maximum_index;
        line[kHash] = hash;
        line[kSumLow] = known.sum_low;
        line[kSumHigh] = known.sum_high;
        line[kLineWords - 2] = line[kLineWords - 1] = 0;
    }
}

/// The first warp builds and sends the block's lines from the results of all warps.
__device__ __forceinline__ void leave_lines(unsigned sequence) {
    const DeviceJob& job = shared_job();
    const unsigned lane = threadIdx.x;
    const unsigned parts = line_parts(job.dtype);
    const unsigned kinds = line_kinds(job.dtype, job.requested);
    std::uint64_t hash = lane < kWarps ? shared().hashes[lane] : 0;
    if (wants(job.requested, Requested::hash)) hash = sum_of_lanes(hash);
#pragma unroll 1
    for (unsigned part = 0; part < parts; ++part) {
        Located own;
        if (lane < kWarps && wants(job.requested, Requested::printed | Requested::indices))
            own = left_by_warp(part, lane);
        __syncwarp();
        own = merge_warps(own);
        if (lane == 0)
            write_words(own, shared().specials[part], part == 0 ? hash : 0,
                        &shared().line_words[part * kinds]);
    }
    __syncwarp();
    const unsigned line = lane / 4;
    bool there_is_one = line < parts * kinds;
    if (there_is_one && has_special_lines(job.dtype) && line % kinds == 1)
        there_is_one = (shared().line_words[line - 1][kFlags] & kHasSpecials) != 0;
    const std::uint64_t place = std::uint64_t{line} * job.blocks + (blockIdx.x - job.first_block);
    send_line(shared().line_words[there_is_one ? line : 0], there_is_one,
              job.lines + place * sizeof(ResultLine), sequence);
}

}  // namespace aoti_dbg::device
