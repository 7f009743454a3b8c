// Reads a thread's share of a tensor in one sweep, and passes it to the class that adds up its kind of
// numbers.
#pragma once

#include "stats_kernels/device_load.cuh"

namespace aoti_dbg::device {

/// What a thread reads of a tensor in one sweep. It covers whole groups in memory or staged, for vector
/// loads, and the elements in shared().end if the thread has them. It is small enough for registers.
struct Region {
    const uint4* from = nullptr;
    std::int64_t left = 0;  // groups from there to the end
    unsigned first_turn = 0;
    unsigned end_turn = 0;
    unsigned end_elements = 0;
};

__device__ inline std::int64_t groups_to_next_turn() {
    return std::int64_t{shared_job().blocks} * kTileGroups;
}

__device__ __forceinline__ void put_group(unsigned (&words)[kWords], unsigned k, const uint4& group) {
    words[k * 4] = group.x;
    words[k * 4 + 1] = group.y;
    words[k * 4 + 2] = group.z;
    words[k * 4 + 3] = group.w;
}

/// Loads the groups of a turn. Missing ones repeat the first. Returns how many there are.
__device__ __forceinline__ unsigned load_turn(unsigned (&words)[kWords], const uint4* from,
                                              std::int64_t left) {
    if (left > kTileGroups - kBlockThreads) {
#pragma unroll
        for (unsigned k = 0; k < kGroups; ++k)
            put_group(words, k, from[k * kBlockThreads]);
        return kGroups;
    }
    const unsigned groups = (static_cast<unsigned>(left) + kBlockThreads - 1) / kBlockThreads;
#pragma unroll
    for (unsigned k = 0; k < kGroups; ++k)
        put_group(words, k, from[k < groups ? k * kBlockThreads : 0]);
    return groups;
}

/// `place` is that of the turn's first group.
__device__ __forceinline__ std::uint64_t hash_of_turn(const unsigned (&words)[kWords], unsigned groups,
                                                      std::uint64_t place) {
    std::uint64_t hash = 0;
#pragma unroll
    for (unsigned k = 0; k < kGroups; ++k) {
        const std::uint64_t mixed = hash_group_at(place + k * (kBlockThreads * kHashStep),
                                                  std::uint64_t{words[k * 4 + 1]} << 32U | words[k * 4],
                                                  std::uint64_t{words[k * 4 + 3]} << 32U | words[k * 4 + 2]);
        if (k < groups) hash += mixed;
    }
    return hash;
}

/// A patch is hashed when it is staged.
__device__ inline bool sweeps_hash() {
    return wants(shared_job().requested, Requested::hash) && !is_patched();
}

/// kHere inlines everything, including the end.
template <unsigned kBytes, bool kHash, bool kHere, typename Numbers>
__device__ __forceinline__ void sweep_here(const Region& region) {
    constexpr unsigned kInGroup = 16 / kBytes;
    std::uint64_t place = kHash ? hash_place(first_group_of(region.first_turn)) : 0;
    std::uint64_t hash = 0;
    Numbers numbers;
    Turn turn;
    turn.from = region.from;
    turn.in_last = kInGroup;
    turn.number = region.first_turn;
    const std::int64_t step = groups_to_next_turn();
    for (std::int64_t left = region.left; left > 0; left -= step) {
        unsigned words[kWords];
        turn.groups = load_turn(words, turn.from, left);
        if (kHash) {
            hash += hash_of_turn(words, turn.groups, place);
            place += step * kHashStep;
        }
        numbers.add(words, turn);
        turn.from += step;
        ++turn.number;
    }
    if (region.end_elements > 0) {
        const auto before =
            static_cast<unsigned>(shared_job().count / kInGroup % kTileGroups) / kBlockThreads;
        numbers.add_end({&shared().end, 1, region.end_elements, region.end_turn, before});
    }
    numbers.template finish<kHere>();
    if (kHash && sweeps_hash()) leave_hash(hash);
}

/// Each variant is a function of its own without calls in its loop, so the loop has all registers.
template <unsigned kBytes, bool kHash, typename Numbers>
__device__ __noinline__ void sweep(Region region) {
    sweep_here<kBytes, kHash, false, Numbers>(region);
}

/// Hashes a region in a pass of its own. Only the most common kinds have sweeps that also hash, because each
/// takes seconds to compile.
__device__ __noinline__ void hash_region(Region region) {
    std::uint64_t place = hash_place(first_group_of(region.first_turn));
    std::uint64_t hash = 0;
    const std::int64_t step = groups_to_next_turn();
    for (; region.left > 0; region.left -= step) {
        unsigned words[kWords];
        const unsigned groups = load_turn(words, region.from, region.left);
        hash += hash_of_turn(words, groups, place);
        place += step * kHashStep;
        region.from += step;
    }
    leave_hash(hash);
}

}  // namespace aoti_dbg::device
