// Operations of a warp's lanes for any kernel: add, find the minimum, send a line to the host.
#pragma once

#include "stats_kernels/device_job.hpp"

namespace aoti_dbg::device {

inline constexpr unsigned kAllLanes = 0xffffffffU;
inline constexpr unsigned kWarps = kBlockThreads / 32;

__extension__ using Wide = unsigned __int128;

__device__ inline unsigned sum_of_lanes(unsigned value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    return __reduce_add_sync(kAllLanes, value);
#else
    for (unsigned step = 16; step > 0; step /= 2)
        value += __shfl_xor_sync(kAllLanes, value, step);
    return value;
#endif
}

__device__ inline unsigned least_of_lanes(unsigned value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    return __reduce_min_sync(kAllLanes, value);
#else
    for (unsigned step = 16; step > 0; step /= 2)
        value = min(value, __shfl_xor_sync(kAllLanes, value, step));
    return value;
#endif
}

/// Adds pieces of 26 bits, because 32 of them do not overflow.
__device__ inline Wide wide_sum_of_lanes(std::uint64_t value) {
    constexpr unsigned kPiece = (1U << 26U) - 1;
    const unsigned low = sum_of_lanes(static_cast<unsigned>(value) & kPiece);
    const unsigned middle = sum_of_lanes(static_cast<unsigned>(value >> 26U) & kPiece);
    const unsigned high = sum_of_lanes(static_cast<unsigned>(value >> 52U));
    return low + (Wide{middle} << 26U) + (Wide{high} << 52U);
}

__device__ inline std::uint64_t sum_of_lanes(std::uint64_t value) {
    return static_cast<std::uint64_t>(wide_sum_of_lanes(value));
}

__device__ inline std::uint64_t least_of_lanes(std::uint64_t value) {
    const auto high = static_cast<unsigned>(value >> 32U);
    const unsigned least_high = least_of_lanes(high);
    const unsigned least_low = least_of_lanes(high == least_high ? static_cast<unsigned>(value) : UINT32_MAX);
    return std::uint64_t{least_high} << 32U | least_low;
}

/// Sends a line from words in shared memory. Each thread of a whole warp writes a quarter, and threads
/// without a line write nothing. Nothing waits for its arrival, because the line itself shows whether it is
/// whole. If the line announces other data, the caller must fence before.
__device__ inline void send_line(const std::uint64_t* words, bool there_is_one, std::uint64_t to,
                                 unsigned sequence) {
    const unsigned quarter = threadIdx.x % 4;
    std::uint64_t low = sequence;
    std::uint64_t high = 0;
    if (there_is_one) {
        if (quarter > 0) low = words[2 * quarter - 1];
        high = words[2 * quarter];
    }
    unsigned check =
        check_of(low, quarter > 0 ? 2 * quarter - 1 : kPlaceOfSequence) + check_of(high, 2 * quarter);
    check += __shfl_xor_sync(kAllLanes, check, 1);
    check += __shfl_xor_sync(kAllLanes, check, 2);
    if (quarter == 0) low = std::uint64_t{sequence} << 32U | check;
    if (there_is_one) reinterpret_cast<ulonglong2*>(to)[quarter] = make_ulonglong2(low, high);
}

/// The program's next kernel may start if it asked to overlap its predecessor (programmatic dependent
/// launch). It waits for the memory of this one and of all before, because this one waits, too.
__device__ inline void let_next_kernel_start() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}

/// Must come before the first access to the program's memory, because this kernel asks to overlap, too.
__device__ inline void wait_for_previous_kernels() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

}  // namespace aoti_dbg::device
