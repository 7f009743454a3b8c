// The elements in a thread's 64 bytes, for each kind of number. All indices are known when compiling, so that
// the words stay in registers.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "stats_kernels/device_load.cuh"

namespace aoti_dbg::device {

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

/// 1 or 0, in one instruction: a predicate that steers an addition takes three.
__device__ inline float one_if_zero(float number) {
    float one;
    asm("set.eq.f32.f32 %0, %1, 0f00000000;" : "=f"(one) : "f"(number));
    return one;
}
__device__ inline float one_if_zero(double number) {
    return number == 0 ? 1.0F : 0.0F;
}

/// Every kParts-th number, from number kPart.
template <typename Kind, unsigned kPart, unsigned kParts>
__device__ Extremes<typename Kind::Real> plain_extremes(const unsigned (&words)[kWords]) {
    using Real = typename Kind::Real;
    Extremes<Real> extremes{Kind::number(words, kPart), Kind::number(words, kPart), 0};
    float zeros = 0;
#pragma unroll
    for (unsigned i = kPart; i < Kind::kNumbers; i += kParts) {
        const Real number = Kind::number(words, i);
        extremes.minimum = lesser(extremes.minimum, number);
        extremes.maximum = greater(extremes.maximum, number);
        zeros += one_if_zero(number);
    }
    extremes.zeros = static_cast<unsigned>(zeros);
    return extremes;
}

struct Float64 {
    using Real = double;
    static constexpr DType kDType = DType::float64;
    static constexpr unsigned kNumbers = kWords / 2;
    static __device__ double number(const unsigned (&words)[kWords], unsigned i) {
        return __hiloint2double(static_cast<int>(words[2 * i + 1]), static_cast<int>(words[2 * i]));
    }
    template <unsigned kPart, unsigned kParts>
    static __device__ Extremes<Real> extremes(const unsigned (&words)[kWords]) {
        return plain_extremes<Float64, kPart, kParts>(words);
    }
};

struct Float32 {
    using Real = float;
    static constexpr DType kDType = DType::float32;
    static constexpr unsigned kNumbers = kWords;
    static __device__ float number(const unsigned (&words)[kWords], unsigned i) {
        return __uint_as_float(words[i]);
    }
    template <unsigned kPart, unsigned kParts>
    static __device__ Extremes<Real> extremes(const unsigned (&words)[kWords]) {
        return plain_extremes<Float32, kPart, kParts>(words);
    }
};

/// Two at a time where they are neighbours: extremes and comparisons run at half the rate of additions.
template <typename Pair>
__device__ Extremes<float> paired_extremes(const unsigned (&words)[kWords]) {
    const auto pair = [&](unsigned i) { return *reinterpret_cast<const Pair*>(&words[i]); };
    const unsigned nothing = 0;
    const Pair zero = *reinterpret_cast<const Pair*>(&nothing);
    Pair minimum = pair(0);
    Pair maximum = pair(0);
    Pair zeros = __heq2(pair(0), zero);
#pragma unroll
    for (unsigned i = 1; i < kWords; ++i) {
        minimum = __hmin2(minimum, pair(i));
        maximum = __hmax2(maximum, pair(i));
        zeros = __hadd2(zeros, __heq2(pair(i), zero));
    }
    return {fminf(__low2float(minimum), __high2float(minimum)),
            fmaxf(__low2float(maximum), __high2float(maximum)),
            static_cast<unsigned>(__low2float(zeros) + __high2float(zeros))};
}

struct Float16 {
    using Real = float;
    static constexpr DType kDType = DType::float16;
    static constexpr unsigned kNumbers = kWords * 2;
    static __device__ float number(const unsigned (&words)[kWords], unsigned i) {
        return __half2float(__ushort_as_half(static_cast<unsigned short>(words[i / 2] >> (i % 2 * 16))));
    }
    template <unsigned kPart, unsigned kParts>
    static __device__ Extremes<Real> extremes(const unsigned (&words)[kWords]) {
        if constexpr (kParts == 1)
            return paired_extremes<__half2>(words);
        else
            return plain_extremes<Float16, kPart, kParts>(words);
    }
};

struct BFloat16 {
    using Real = float;
    static constexpr DType kDType = DType::bfloat16;
    static constexpr unsigned kNumbers = kWords * 2;
    static __device__ float number(const unsigned (&words)[kWords], unsigned i) {
        return __uint_as_float(i % 2 == 0 ? words[i / 2] << 16U : words[i / 2] & 0xffff0000U);
    }
    template <unsigned kPart, unsigned kParts>
    static __device__ Extremes<Real> extremes(const unsigned (&words)[kWords]) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
        return paired_extremes<__nv_bfloat162>(words);
#else
        return plain_extremes<BFloat16, kPart, kParts>(words);  // older ones compare them one by one anyway
#endif
    }
};

/// All five kinds, by the table that the block has filled for the one of its job.
struct Float8 {
    using Real = float;
    static constexpr DType kDType = DType::float8_e4m3fn;
    static constexpr unsigned kNumbers = kWords * 4;
    static __device__ float number(const unsigned (&words)[kWords], unsigned i) {
        return shared().float8[words[i / 4] >> (i % 4 * 8) & 0xffU];
    }
    template <unsigned kPart, unsigned kParts>
    static __device__ Extremes<Real> extremes(const unsigned (&words)[kWords]) {
        return plain_extremes<Float8, kPart, kParts>(words);
    }
};

/// Any float kind, whatever the index: for the rare way.
__device__ inline double number_of(DType dtype, const unsigned* words, unsigned i) {
    switch (dtype) {
        case DType::float64:
            return __hiloint2double(static_cast<int>(words[2 * i + 1]), static_cast<int>(words[2 * i]));
        case DType::float32:
            return __uint_as_float(words[i]);
        case DType::float16:
            return __half2float(__ushort_as_half(static_cast<unsigned short>(words[i / 2] >> (i % 2 * 16))));
        case DType::bfloat16:
            return __uint_as_float(words[i / 2] >> (i % 2 * 16) << 16U);
        default:
            return shared().float8[words[i / 4] >> (i % 4 * 8) & 0xffU];
    }
}

}  // namespace aoti_dbg::device
