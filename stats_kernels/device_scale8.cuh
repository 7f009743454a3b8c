// The statistics of float8_e8m0fnu, whose numbers are powers of two from 2^-127 to 2^127. A byte is the
// exponent of a bfloat16, but 0 is not zero, and 255 is NaN. The sums of a turn are in float, relative to a
// power of two near the maximum, so that no square that matters leaves the range of float.
#pragma once

#include "stats_kernels/device_float8.cuh"

namespace aoti_dbg::device {

class ScaleNumbers : public Float8Result {
  public:
    __device__ void add(const unsigned (&words)[kWords], const Turn& turn) {
        if (turn.groups != kGroups || !add_ordinary(words, turn.number)) add_slowly(turn);
    }

  private:
    static constexpr unsigned kNan = 255;
    static constexpr unsigned kBoth = 0x00800080U;  // times an exponent: a pair of that number
    // How far the maximum of a turn may be from scale_. Further above, a sum of 64 squares could become Inf.
    // Further below, squares that matter could become 0.
    static constexpr unsigned kMostAbove = 58;
    static constexpr unsigned kMostBelow = 48;
    /// With such a maximum, 0 may stand for 2^-127 in the sums.
    static constexpr unsigned kLarge = 30;

    /// Relative to the number with the exponent scale_.
    struct Sums {
        float sum = 0;
        float squares = 0;

        __device__ __forceinline__ void add(unsigned pair) {
            const float low = __uint_as_float(pair << 16U);
            const float high = __uint_as_float(pair & 0xffff0000U);
            sum += low;
            squares = fmaf(low, low, squares);
            sum += high;
            squares = fmaf(high, high, squares);
        }
    };

    static __device__ float number_of(unsigned exponent) {
        return __uint_as_float(exponent == 0 ? 0x00400000U : exponent << 23U);
    }

    /// Returns false, and adds nothing, if there is NaN, or if scale_ does not fit. Then it sets scale_ for
    /// the next turns.
    __device__ __forceinline__ bool add_ordinary(const unsigned (&words)[kWords], unsigned turn) {
        using Pair = __nv_bfloat162;
        const unsigned factor = (254 - scale_) * kBoth;
        unsigned minima = kNan * kBoth;
        unsigned maxima = 0;
        Sums sums[kGroups];
#pragma unroll
        for (unsigned i = 0; i < kWords; ++i) {
            const unsigned pairs[2] = {high_bytes<0>(words[i]) >> 1U, high_bytes<1>(words[i]) >> 1U};
#pragma unroll
            for (const unsigned pair : pairs) {
                minima = __vminu2(minima, pair);
                maxima = __vmaxu2(maxima, pair);
                sums[i / 4].add(as_pair<unsigned>(__hmul2(as_pair<Pair>(pair), as_pair<Pair>(factor))));
            }
        }
        const unsigned minimum = min(minima & 0xffffU, minima >> 16U) >> 7U;
        const unsigned maximum = max(maxima & 0xffffU, maxima >> 16U) >> 7U;
        if (maximum == kNan || (minimum == 0 && maximum < kLarge)) return false;
        if (maximum > scale_ + kMostAbove || maximum + kMostBelow < scale_) {
            scale_ = min(max(maximum, 1U), 254 - kMostAbove);
            return false;
        }
        take(sums, minimum, maximum, turn);
        return true;
    }

    __device__ __forceinline__ void take(const Sums (&sums)[kGroups], unsigned minimum, unsigned maximum,
                                         unsigned turn) {
        static_assert(kGroups == 4);
        const double scale = __hiloint2double(static_cast<int>((scale_ + 1023 - 127) << 20U), 0);
        const float sum = sums[0].sum + sums[1].sum + (sums[2].sum + sums[3].sum);
        const float squares = sums[0].squares + sums[1].squares + (sums[2].squares + sums[3].squares);
        sum_ = fma(static_cast<double>(sum), scale, sum_);
        squares_ = fma(static_cast<double>(squares) * scale, scale, squares_);
        count_ += kGroups * kInGroup;
        extremes_.add(number_of(minimum), number_of(maximum), turn);
    }

    unsigned scale_ = 127;  // an exponent, near that of the maximum
};

}  // namespace aoti_dbg::device
