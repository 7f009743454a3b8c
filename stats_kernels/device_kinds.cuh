// Decodes the numbers in a thread's 64 bytes for each floating-point kind. All indices are compile-time
// constants, so that the words stay in registers.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "stats_kernels/device_load.cuh"

namespace aoti_dbg::device {

/// The sums over a turn, of the distances from a number of the turn, and its extremes. All but the extremes
/// cover only the groups that the turn has.
template <typename Real>
struct TurnSums {
    Real sum = 0;
    Real squares = 0;
    Real minimum;
    Real maximum;
    unsigned zeros = 0;
};

__device__ inline float lesser(float a, float b) {
    return fminf(a, b);
}
__device__ inline double lesser(double a, double b) {
    return fmin(a, b);
}
__device__ inline float greater(float a, float b) {
    return fmaxf(a, b);
}
__device__ inline double greater(double a, double b) {
    return fmax(a, b);
}

/// Returns 1 or 0 in one instruction. A predicated addition takes three.
__device__ inline float one_if_zero(float number) {
    float one;
    asm("set.eq.f32.f32 %0, %1, 0f00000000;" : "=f"(one) : "f"(number));
    return one;
}
__device__ inline float one_if_zero(double number) {
    return number == 0 ? 1.0F : 0.0F;
}

/// Uses every kParts-th number from number kPart on. Missing groups repeat the first one.
template <typename Kind, unsigned kPart, unsigned kParts>
__device__ TurnSums<typename Kind::Real> plain_sums(const unsigned (&words)[kWords], unsigned groups,
                                                    typename Kind::Real shift) {
    using Real = typename Kind::Real;
    constexpr unsigned kInGroup = Kind::kNumbers / kGroups;
    TurnSums<Real> sums{0, 0, Kind::number(words, kPart), Kind::number(words, kPart), 0};
    float zeros = 0;
#pragma unroll
    for (unsigned k = 0; k < kGroups; ++k) {
        Real group_sum = 0;
        Real group_squares = 0;
        float group_zeros = 0;
#pragma unroll
        for (unsigned i = kPart; i < kInGroup; i += kParts) {
            const Real number = Kind::number(words, k * kInGroup + i);
            const Real distance = number - shift;
            group_sum += distance;
            group_squares = fma(distance, distance, group_squares);
            sums.minimum = lesser(sums.minimum, number);
            sums.maximum = greater(sums.maximum, number);
            group_zeros += one_if_zero(number);
        }
        if (k < groups) {
            sums.sum += group_sum;
            sums.squares += group_squares;
            zeros += group_zeros;
        }
    }
    sums.zeros = static_cast<unsigned>(zeros);
    return sums;
}

/// Extremes and comparisons run at half the rate of additions, so it handles pairs of neighbors.
template <typename Kind>
__device__ TurnSums<float> paired_sums(const unsigned (&words)[kWords], unsigned groups, float shift) {
    using Pair = typename Kind::Pair;
    const Pair zero = Kind::both(0.0F);
    TurnSums<float> sums;
    Pair minimum = zero;
    Pair maximum = zero;
    Pair zeros = zero;
#pragma unroll
    for (unsigned k = 0; k < kGroups; ++k) {
        const unsigned group[4] = {words[k * 4], words[k * 4 + 1], words[k * 4 + 2], words[k * 4 + 3]};
        Pair pairs[Kind::kPairs];
        Kind::decode(group, pairs);
        if (k == 0) minimum = maximum = pairs[0];
        float group_sum = 0;
        float group_squares = 0;
        Pair group_zeros = zero;
#pragma unroll
        for (unsigned i = 0; i < Kind::kPairs; ++i) {
            const float low = Kind::low(pairs[i]) - shift;
            const float high = Kind::high(pairs[i]) - shift;
            group_sum += low;
            group_sum += high;
            group_squares = fma(low, low, group_squares);
            group_squares = fma(high, high, group_squares);
            minimum = __hmin2(minimum, pairs[i]);
            maximum = __hmax2(maximum, pairs[i]);
            group_zeros = __hadd2(group_zeros, __heq2(pairs[i], zero));
        }
        if (k < groups) {
            sums.sum += group_sum;
            sums.squares += group_squares;
            zeros = __hadd2(zeros, group_zeros);
        }
    }
    sums.minimum = fminf(Kind::low(minimum), Kind::high(minimum));
    sums.maximum = fmaxf(Kind::low(maximum), Kind::high(maximum));
    sums.zeros = static_cast<unsigned>(Kind::low(zeros) + Kind::high(zeros));
    return sums;
}

struct Float64 {
    using Real = double;
    static constexpr bool kPaired = false;
    static constexpr unsigned kNumbers = kWords / 2;
    template <unsigned kCount>
    static __device__ double number(const unsigned (&words)[kCount], unsigned i) {
        return __hiloint2double(static_cast<int>(words[2 * i + 1]), static_cast<int>(words[2 * i]));
    }
    static __device__ double decode(std::uint64_t bits) { return double_of_bits(bits); }
};

struct Float32 {
    using Real = float;
    static constexpr bool kPaired = false;
    static constexpr unsigned kNumbers = kWords;
    template <unsigned kCount>
    static __device__ float number(const unsigned (&words)[kCount], unsigned i) {
        return __uint_as_float(words[i]);
    }
    static __device__ float decode(std::uint64_t bits) {
        return __uint_as_float(static_cast<unsigned>(bits));
    }
};

template <typename To, typename From>
__device__ To as_pair(const From& from) {
    return *reinterpret_cast<const To*>(&from);
}

struct HalfPairs {
    using Pair = __half2;
    static __device__ Pair both(float number) { return __float2half2_rn(number); }
    static __device__ float low(Pair pair) { return __low2float(pair); }
    static __device__ float high(Pair pair) { return __high2float(pair); }
};

struct Float16 : HalfPairs {
    using Real = float;
    static constexpr bool kPaired = true;
    static constexpr unsigned kPairs = 4;
    static constexpr unsigned kNumbers = kWords * 2;
    template <unsigned kCount>
    static __device__ float number(const unsigned (&words)[kCount], unsigned i) {
        return decode(words[i / 2] >> (i % 2 * 16));
    }
    static __device__ float decode(std::uint64_t bits) {
        return __half2float(__ushort_as_half(static_cast<unsigned short>(bits)));
    }
    static __device__ void decode(const unsigned (&group)[4], Pair (&pairs)[kPairs]) {
#pragma unroll
        for (unsigned i = 0; i < kPairs; ++i)
            pairs[i] = as_pair<Pair>(group[i]);
    }
};

struct BFloat16 {
    using Real = float;
    using Pair = __nv_bfloat162;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    static constexpr bool kPaired = true;
#else
    static constexpr bool kPaired = false;  // older devices compare one by one anyway
#endif
    static constexpr unsigned kPairs = 4;
    static constexpr unsigned kNumbers = kWords * 2;
    template <unsigned kCount>
    static __device__ float number(const unsigned (&words)[kCount], unsigned i) {
        return __uint_as_float(i % 2 == 0 ? words[i / 2] << 16U : words[i / 2] & 0xffff0000U);
    }
    static __device__ float decode(std::uint64_t bits) {
        return __uint_as_float(static_cast<unsigned>(bits) << 16U);
    }
    static __device__ void decode(const unsigned (&group)[4], Pair (&pairs)[kPairs]) {
#pragma unroll
        for (unsigned i = 0; i < kPairs; ++i)
            pairs[i] = as_pair<Pair>(group[i]);
    }
    static __device__ Pair both(float number) {
        return __float2bfloat162_rn(number);
    }
    static __device__ float low(Pair pair) {
        return __uint_as_float(as_pair<unsigned>(pair) << 16U);
    }
    static __device__ float high(Pair pair) {
        return __uint_as_float(as_pair<unsigned>(pair) & 0xffff0000U);
    }
};

/// Decodes the kinds of float8 with the table that the block filled for its job's kind.
struct TableFloat8 {
    using Real = float;
    static constexpr bool kPaired = false;
    static constexpr unsigned kNumbers = kWords * 4;
    template <unsigned kCount>
    static __device__ float number(const unsigned (&words)[kCount], unsigned i) {
        return decode(words[i / 4] >> (i % 4 * 8) & 0xffU);
    }
    static __device__ float decode(std::uint64_t bits) { return shared().float8[bits]; }
};

/// The kinds of attention masks.
template <typename Kind>
inline constexpr bool kIsMasked = false;
template <>
inline constexpr bool kIsMasked<Float32> = true;
template <>
inline constexpr bool kIsMasked<Float16> = true;
template <>
inline constexpr bool kIsMasked<BFloat16> = true;

}  // namespace aoti_dbg::device
