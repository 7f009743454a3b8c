// Decodes the numbers in a thread's 64 bytes for each floating-point kind. All indices are compile-time
// constants, so that the words stay in registers.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "stats_kernels/device_load.cuh"

namespace aoti_dbg::device {

/// The extremes of a turn. `zeros` counts only the groups that the turn has.
template <typename Real>
struct Extremes {
    Real minimum;
    Real maximum;
    unsigned zeros;
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
__device__ Extremes<typename Kind::Real> plain_extremes(const unsigned (&words)[kWords], unsigned groups) {
    using Real = typename Kind::Real;
    constexpr unsigned kInGroup = Kind::kNumbers / kGroups;
    Extremes<Real> extremes{Kind::number(words, kPart), Kind::number(words, kPart), 0};
    float zeros = 0;
#pragma unroll
    for (unsigned k = 0; k < kGroups; ++k) {
        float in_group = 0;
#pragma unroll
        for (unsigned i = kPart; i < kInGroup; i += kParts) {
            const Real number = Kind::number(words, k * kInGroup + i);
            extremes.minimum = lesser(extremes.minimum, number);
            extremes.maximum = greater(extremes.maximum, number);
            in_group += one_if_zero(number);
        }
        if (k < groups) zeros += in_group;
    }
    extremes.zeros = static_cast<unsigned>(zeros);
    return extremes;
}

struct Float64 {
    using Real = double;
    static constexpr unsigned kNumbers = kWords / 2;
    static __device__ double number(const unsigned (&words)[kWords], unsigned i) {
        return __hiloint2double(static_cast<int>(words[2 * i + 1]), static_cast<int>(words[2 * i]));
    }
    static __device__ double decode(std::uint64_t bits) { return double_of_bits(bits); }
    template <unsigned kPart, unsigned kParts>
    static __device__ Extremes<Real> extremes(const unsigned (&words)[kWords], unsigned groups) {
        return plain_extremes<Float64, kPart, kParts>(words, groups);
    }
};

struct Float32 {
    using Real = float;
    static constexpr unsigned kNumbers = kWords;
    static __device__ float number(const unsigned (&words)[kWords], unsigned i) {
        return __uint_as_float(words[i]);
    }
    static __device__ float decode(std::uint64_t bits) {
        return __uint_as_float(static_cast<unsigned>(bits));
    }
    template <unsigned kPart, unsigned kParts>
    static __device__ Extremes<Real> extremes(const unsigned (&words)[kWords], unsigned groups) {
        return plain_extremes<Float32, kPart, kParts>(words, groups);
    }
};

/// Handles pairs of neighbors, because extremes and comparisons run at half the rate of additions.
template <typename Pair>
__device__ Extremes<float> paired_extremes(const unsigned (&words)[kWords], unsigned groups) {
    const auto pair = [&](unsigned i) { return *reinterpret_cast<const Pair*>(&words[i]); };
    const unsigned nothing = 0;
    const Pair zero = *reinterpret_cast<const Pair*>(&nothing);
    Pair minimum = pair(0);
    Pair maximum = pair(0);
    Pair zeros = zero;
#pragma unroll
    for (unsigned k = 0; k < kGroups; ++k) {
        Pair in_group = zero;
#pragma unroll
        for (unsigned i = k * 4; i < k * 4 + 4; ++i) {
            minimum = __hmin2(minimum, pair(i));
            maximum = __hmax2(maximum, pair(i));
            in_group = __hadd2(in_group, __heq2(pair(i), zero));
        }
        if (k < groups) zeros = __hadd2(zeros, in_group);
    }
    return {fminf(__low2float(minimum), __high2float(minimum)),
            fmaxf(__low2float(maximum), __high2float(maximum)),
            static_cast<unsigned>(__low2float(zeros) + __high2float(zeros))};
}

struct Float16 {
    using Real = float;
    static constexpr unsigned kNumbers = kWords * 2;
    static __device__ float number(const unsigned (&words)[kWords], unsigned i) {
        return decode(words[i / 2] >> (i % 2 * 16));
    }
    static __device__ float decode(std::uint64_t bits) {
        return __half2float(__ushort_as_half(static_cast<unsigned short>(bits)));
    }
    template <unsigned kPart, unsigned kParts>
    static __device__ Extremes<Real> extremes(const unsigned (&words)[kWords], unsigned groups) {
        if constexpr (kParts == 1)
            return paired_extremes<__half2>(words, groups);
        else
            return plain_extremes<Float16, kPart, kParts>(words, groups);
    }
};

struct BFloat16 {
    using Real = float;
    static constexpr unsigned kNumbers = kWords * 2;
    static __device__ float number(const unsigned (&words)[kWords], unsigned i) {
        return __uint_as_float(i % 2 == 0 ? words[i / 2] << 16U : words[i / 2] & 0xffff0000U);
    }
    static __device__ float decode(std::uint64_t bits) {
        return __uint_as_float(static_cast<unsigned>(bits) << 16U);
    }
    template <unsigned kPart, unsigned kParts>
    static __device__ Extremes<Real> extremes(const unsigned (&words)[kWords], unsigned groups) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
        return paired_extremes<__nv_bfloat162>(words, groups);
#else
        return plain_extremes<BFloat16, kPart, kParts>(words,
                                                       groups);  // older devices compare one by one anyway
#endif
    }
};

/// Decodes all five kinds with the table that the block filled for its job's kind.
struct Float8 {
    using Real = float;
    static constexpr unsigned kNumbers = kWords * 4;
    static __device__ float number(const unsigned (&words)[kWords], unsigned i) {
        return decode(words[i / 4] >> (i % 4 * 8) & 0xffU);
    }
    static __device__ float decode(std::uint64_t bits) { return shared().float8[bits]; }
    template <unsigned kPart, unsigned kParts>
    static __device__ Extremes<Real> extremes(const unsigned (&words)[kWords], unsigned groups) {
        return plain_extremes<Float8, kPart, kParts>(words, groups);
    }
};

}  // namespace aoti_dbg::device
