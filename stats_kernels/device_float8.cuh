// The statistics of float8, except for float8_e8m0fnu. Their numbers have at most four significant bits, so
// the sums of a turn need no reference: a rounding error needs numbers so different that it is small beside
// their deviation. All of them are numbers of float16.
#pragma once

#include "stats_kernels/device_float.cuh"

namespace aoti_dbg::device {

enum class Float8Format { e4m3fn, e5m2, fnuz };

/// Whether the decoded numbers show what is NaN or Inf.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
inline constexpr bool kConvertsFloat8 = true;
#else
inline constexpr bool kConvertsFloat8 = false;
#endif
template <Float8Format kFormat>
inline constexpr bool kShowsSpecials = kFormat == Float8Format::e5m2 ||
                                       (kFormat == Float8Format::e4m3fn && kConvertsFloat8);

/// Moves two bytes to the high ends of halves.
template <unsigned kHalf>
__device__ unsigned high_bytes(unsigned word) {
    return __byte_perm(word, 0, kHalf == 0 ? 0x1404 : 0x3424);
}

/// Four bits of exponent become five, and `scale` mends their bias. A NaN becomes a number.
__device__ inline __half2 decode_e4m3(unsigned halves, float scale) {
    const unsigned bits = (halves & 0x80008000U) | (halves & 0x7f007f00U) >> 1U;
    return __hmul2(as_pair<__half2>(bits), __float2half2_rn(scale));
}

/// The same for five bits of exponent, whose largest value is that of Inf in float16.
__device__ inline __half2 decode_e5m2fnuz(unsigned halves) {
    const __half2 half = __hmul2(as_pair<__half2>(halves), __float2half2_rn(0.5F));
    const unsigned is_right = __hlt2_mask(__habs2(half), __float2half2_rn(INFINITY));
    return as_pair<__half2>((as_pair<unsigned>(half) & is_right) | (halves & 0xfbfffbffU & ~is_right));
}

template <Float8Format kFormat>
__device__ void decode_word(unsigned word, __half2* pairs) {
    if constexpr (kFormat == Float8Format::e5m2) {
        pairs[0] = as_pair<__half2>(high_bytes<0>(word));
        pairs[1] = as_pair<__half2>(high_bytes<1>(word));
        return;
    }
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 890
    if constexpr (kFormat == Float8Format::e4m3fn) {
#pragma unroll
        for (unsigned i = 0; i < 2; ++i) {
            unsigned halves = 0;
            asm("cvt.rn.f16x2.e4m3x2 %0, %1;"
                : "=r"(halves)
                : "h"(static_cast<unsigned short>(word >> (i * 16))));
            pairs[i] = as_pair<__half2>(halves);
        }
        return;
    }
#endif
    if (kFormat == Float8Format::fnuz && shared_job().dtype == DType::float8_e5m2fnuz) {
        pairs[0] = decode_e5m2fnuz(high_bytes<0>(word));
        pairs[1] = decode_e5m2fnuz(high_bytes<1>(word));
    } else {
        const float scale = kFormat == Float8Format::fnuz ? 0x1p7F : 0x1p8F;
        pairs[0] = decode_e4m3(high_bytes<0>(word), scale);
        pairs[1] = decode_e4m3(high_bytes<1>(word), scale);
    }
}

/// Replaces the numbers of bytes that are NaN, for formats whose decoded numbers do not show it.
template <Float8Format kFormat>
__device__ void show_nan(unsigned word, __half2* pairs) {
    const unsigned bytes =
        kFormat == Float8Format::fnuz ? word ^ 0x80808080U : (word & 0x7f7f7f7fU) ^ 0x7f7f7f7fU;
    const unsigned nonzero = (((bytes & 0x7f7f7f7fU) + 0x7f7f7f7fU) | bytes) & 0x80808080U;
    const unsigned nan = ((nonzero ^ 0x80808080U) >> 7U) * 0xffU;
    pairs[0] = as_pair<__half2>(as_pair<unsigned>(pairs[0]) | __byte_perm(nan, 0, 0x1100));
    pairs[1] = as_pair<__half2>(as_pair<unsigned>(pairs[1]) | __byte_perm(nan, 0, 0x3322));
}

/// The pairs of a group, as specials_of_pairs() needs them.
template <Float8Format kFormat>
struct Float8Pairs : HalfPairs {
    static constexpr unsigned kPairs = 8;
    static __device__ void decode(const unsigned (&group)[4], Pair (&pairs)[kPairs]) {
#pragma unroll
        for (unsigned i = 0; i < 4; ++i) {
            decode_word<kFormat>(group[i], pairs + 2 * i);
            if constexpr (!kShowsSpecials<kFormat>) show_nan<kFormat>(group[i], pairs + 2 * i);
        }
    }
};

/// The sums of groups.
struct Float8Sums {
    float sum = 0;
    float squares = 0;
    PairCount zeros;       // of add_zeros()
    unsigned nonzero = 0;  // of add_words(): a bit for each number, of up to eight words
    __half2 minimum = __float2half2_rn(INFINITY);
    __half2 maximum = __float2half2_rn(-INFINITY);

    /// `least` and `most` are the pair, or neutral where it is not finite.
    __device__ __forceinline__ void add(__half2 pair, __half2 least, __half2 most) {
        const float low = __low2float(pair);
        const float high = __high2float(pair);
        sum += low;
        sum += high;
        squares = fmaf(low, low, squares);
        squares = fmaf(high, high, squares);
        minimum = __hmin2(minimum, least);
        maximum = __hmax2(maximum, most);
    }
    __device__ __forceinline__ void add_zeros(__half2 pair) {
        zeros.add(__heq2_mask(pair, __float2half2_rn(0)));
    }
    template <Float8Format kFormat, unsigned kCount>
    __device__ __forceinline__ void add_words(const unsigned (&words)[kCount], unsigned first) {
#pragma unroll
        for (unsigned i = first; i < first + 4; ++i) {
            __half2 pairs[2];
            decode_word<kFormat>(words[i], pairs);
            add(pairs[0], pairs[0], pairs[0]);
            add(pairs[1], pairs[1], pairs[1]);
            nonzero = (((words[i] & 0x7f7f7f7fU) + 0x7f7f7f7fU) & 0x80808080U) | nonzero >> 1U;
        }
    }
};

/// The statistics of a thread. Its sums have no reference.
class Float8Result {
  public:
    /// One number after the other: what is missing or not finite may be anywhere.
    __device__ void add_slowly(const Turn& turn) {
        TurnSpecials specials;
#pragma unroll 1
        for (unsigned k = turn.groups; k-- > 0;) {
            GroupBits bits(turn.from[k * kBlockThreads]);
            const unsigned numbers = k + 1 == turn.groups ? turn.in_last : kInGroup;
#pragma unroll 1
            for (unsigned i = 0; i < numbers; ++i) {
                const float number = TableFloat8::decode(bits.next(8));
                if (!is_finite(number)) {
                    specials.add(number, k);
                    continue;
                }
                sum_ += static_cast<double>(number);
                squares_ += static_cast<double>(number) * static_cast<double>(number);
                zeros_ += number == 0 ? 1 : 0;
                ++count_;
                extremes_.add(number, number, turn.number);
            }
        }
        specials_.add(specials, turn);
    }
    __device__ void add_end(const Turn& turn) {
        add_slowly(turn);
    }

    /// Moves the sums to the minimum, so that equal numbers have no deviation.
    template <bool>
    __device__ void finish() const {
        specials_.leave(0);
        Known known;
        const auto minimum = static_cast<double>(extremes_.minimum);
        known.count = count_;
        known.reference = minimum;
        known.zeros = zeros_;
        if (count_ > 0) {
            known.sum = fma(-static_cast<double>(count_), minimum, sum_);
            known.squares = fma(-minimum, sum_ + known.sum, squares_);
            known.minimum_key = key_of(minimum);
            known.maximum_key = key_of(static_cast<double>(extremes_.maximum));
        }
        leave(known, 0, extremes_.minimum_turn, extremes_.maximum_turn);
    }

  protected:
    static constexpr unsigned kInGroup = 16;

    double sum_ = 0;
    double squares_ = 0;
    Extremes<float> extremes_{INFINITY, -INFINITY};
    unsigned count_ = 0;
    unsigned zeros_ = 0;
    SpecialCounts specials_;
};

template <Float8Format kFormat>
class Float8Numbers : public Float8Result {
  public:
    __device__ void add(const unsigned (&words)[kWords], const Turn& turn) {
        if (__builtin_expect(!add_ordinary(words, turn), 0)) add_mixed(turn);
    }

  private:
    /// Returns false, and adds nothing, if a number is not finite or groups are missing. The rarest format
    /// has only the code for those.
    __device__ __forceinline__ bool add_ordinary(const unsigned (&words)[kWords], const Turn& turn) {
        if (kFormat == Float8Format::fnuz || turn.groups != kGroups) return false;
        Float8Sums halves[2];
#pragma unroll
        for (unsigned k = 0; k < kGroups; ++k)
            halves[k / 2].template add_words<kFormat>(words, k * 4);
        const float squares = halves[0].squares + halves[1].squares;
        if (kShowsSpecials<kFormat> ? !is_finite(squares) : has_special_bytes(words)) return false;
        sum_ += static_cast<double>(halves[0].sum + halves[1].sum);
        squares_ += static_cast<double>(squares);
        zeros_ += kGroups * kInGroup - __popc(halves[0].nonzero) - __popc(halves[1].nonzero);
        count_ += kGroups * kInGroup;
        take_extremes(__hmin2(halves[0].minimum, halves[1].minimum),
                      __hmax2(halves[0].maximum, halves[1].maximum), turn.number);
        return true;
    }

    /// Reads the turn once more, with zero in place of what is not finite.
    __device__ __forceinline__ void add_mixed(const Turn& turn) {
        const __half2 infinity = __float2half2_rn(INFINITY);
        Float8Sums sums;
        constexpr bool kHasInfinity = kFormat == Float8Format::e5m2;
        const auto specials = specials_of_pairs<Float8Pairs<kFormat>, kHasInfinity>(turn, [&](__half2 pair) {
            const unsigned is_finite = __hlt2_mask(__habs2(pair), infinity);
            const unsigned bits = as_pair<unsigned>(pair) & is_finite;
            sums.add(as_pair<__half2>(bits), as_pair<__half2>(bits | (0x7c007c00U & ~is_finite)),
                     as_pair<__half2>(bits | (0xfc00fc00U & ~is_finite)));
            sums.add_zeros(pair);
        });
        specials_.add(specials, turn);
        const unsigned finite = turn.groups * kInGroup - specials.count();
        if (finite == 0) return;
        sum_ += static_cast<double>(sums.sum);
        squares_ += static_cast<double>(sums.squares);
        zeros_ += sums.zeros.count();
        count_ += finite;
        take_extremes(sums.minimum, sums.maximum, turn.number);
    }

    /// Most turns change no extreme.
    __device__ __forceinline__ void take_extremes(__half2 minima, __half2 maxima, unsigned turn) {
        minima = __hmin2(minima, minima_);
        maxima = __hmax2(maxima, maxima_);
        const unsigned changes = (as_pair<unsigned>(minima) ^ as_pair<unsigned>(minima_)) |
                                 (as_pair<unsigned>(maxima) ^ as_pair<unsigned>(maxima_));
        if (__builtin_expect(changes == 0, 1)) return;
        minima_ = minima;
        maxima_ = maxima;
        extremes_.add(fminf(__low2float(minima), __high2float(minima)),
                      fmaxf(__low2float(maxima), __high2float(maxima)), turn);
    }

    __half2 minima_ = __float2half2_rn(INFINITY);
    __half2 maxima_ = __float2half2_rn(-INFINITY);
};

}  // namespace aoti_dbg::device
