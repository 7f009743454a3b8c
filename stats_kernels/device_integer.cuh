// The exact integer statistics of a thread. Integers up to 32 bits use a sum and a sum of squares. 64-bit
// integers use a 128-bit sum, in two words of 64 bits, and squares of distances.
#pragma once

#include <type_traits>

#include "stats_kernels/device_float.cuh"

namespace aoti_dbg::device {

template <typename T>
inline constexpr bool kIsSigned = static_cast<T>(-1) < static_cast<T>(0);

template <typename T>
__device__ void leave_integers(Known known, const Extremes<T>& extremes) {
    using Wide64 = std::conditional_t<kIsSigned<T>, std::int64_t, std::uint64_t>;
    if (known.count > 0) {
        known.minimum_key = key_of(static_cast<Wide64>(extremes.minimum));
        known.maximum_key = key_of(static_cast<Wide64>(extremes.maximum));
    }
    leave(known, 0, extremes.minimum_turn, extremes.maximum_turn);
}

template <typename T>
__device__ T integer(const unsigned (&words)[kWords], unsigned i) {
    if constexpr (sizeof(T) == 4) return static_cast<T>(words[i]);
    if constexpr (sizeof(T) == 2) return static_cast<T>(words[i / 2] >> (i % 2 * 16));
    return static_cast<T>(words[i / 4] >> (i % 4 * 8));
}

/// Returns 128 in each byte that is not zero.
__device__ inline unsigned nonzero_bytes(unsigned word) {
    return (((word & 0x7f7f7f7fU) + 0x7f7f7f7fU) | word) & 0x80808080U;
}

/// Sums of numbers up to 32 bits. The sums of one turn cannot overflow.
struct Sums {
    std::int64_t sum = 0;
    std::uint64_t squares = 0;
    unsigned squares_high = 0;
    unsigned zeros = 0;

    __device__ void add(const Sums& other) {
        sum += other.sum;
        squares += other.squares;
        squares_high += other.squares_high + (squares < other.squares ? 1 : 0);
        zeros += other.zeros;
    }
};

/// Handles four numbers at a time with the dot-product instruction, which full bandwidth requires.
template <typename T>
__device__ Sums sums_of_bytes(const unsigned (&words)[kWords], unsigned group) {
    int total = 0;
    int squares = 0;
    unsigned nonzero = 0;
#pragma unroll
    for (unsigned i = group * 4; i < group * 4 + 4; ++i) {
        if constexpr (kIsSigned<T>) {
            total = __dp4a(static_cast<int>(words[i]), 0x01010101, total);
            squares = __dp4a(static_cast<int>(words[i]), static_cast<int>(words[i]), squares);
        } else {
            total = static_cast<int>(__dp4a(words[i], 0x01010101U, static_cast<unsigned>(total)));
            squares = static_cast<int>(__dp4a(words[i], words[i], static_cast<unsigned>(squares)));
        }
        nonzero = __dp4a(nonzero_bytes(words[i]), 0x01010101U, nonzero);
    }
    return {total, static_cast<std::uint64_t>(squares), 0, 16 - nonzero / 128};
}

/// Adds the products of the word's halves with two bytes: the low or the high half of `bytes`.
template <typename T, bool kHigh>
__device__ int add_products(unsigned word, unsigned bytes, int sum) {
    // The low byte of a number has no sign.
    if constexpr (!kIsSigned<T> && kHigh)
        asm("dp2a.hi.u32.u32 %0, %1, %2, %0;" : "+r"(sum) : "r"(word), "r"(bytes));
    else if constexpr (!kIsSigned<T>)
        asm("dp2a.lo.u32.u32 %0, %1, %2, %0;" : "+r"(sum) : "r"(word), "r"(bytes));
    else if constexpr (kHigh)
        asm("dp2a.hi.s32.s32 %0, %1, %2, %0;" : "+r"(sum) : "r"(word), "r"(bytes));
    else
        asm("dp2a.lo.s32.u32 %0, %1, %2, %0;" : "+r"(sum) : "r"(word), "r"(bytes));
    return sum;
}

/// Handles two numbers at a time. A square is the number times its low byte, plus 256 times that with its
/// high byte.
template <typename T>
__device__ Sums sums_of_halves(const unsigned (&words)[kWords], unsigned group) {
    int total = 0;
    int low = 0;
    int high = 0;
    unsigned nonzero = 0;
#pragma unroll
    for (unsigned i = group * 4; i < group * 4 + 4; ++i) {
        const unsigned word = words[i];
        const unsigned bytes = __byte_perm(word, 0, 0x3120);
        total = add_products<T, false>(word, 0x0101U, total);
        low = add_products<T, false>(word, bytes, low);
        high = add_products<T, true>(word, bytes, high);
        const unsigned marks = (((word & 0x7fff7fffU) + 0x7fff7fffU) | word) & 0x80008000U;
        nonzero = __dp2a_lo(marks, 0x0101U, nonzero);
    }
    const auto squares = static_cast<std::uint64_t>(low + std::int64_t{high} * 256);
    return {total, squares, 0, 8 - nonzero / 0x8000U};
}

template <typename T>
__device__ Sums sums_of_one(T number) {
    const auto wide = static_cast<std::int64_t>(number);
    const auto magnitude = static_cast<unsigned>(wide < 0 ? -wide : wide);
    return {wide, std::uint64_t{magnitude} * magnitude, 0, number == 0 ? 1U : 0U};
}

template <typename T>
__device__ Sums sums_of_group(const unsigned (&words)[kWords], unsigned group) {
    constexpr unsigned kInGroup = 16 / sizeof(T);
    if constexpr (sizeof(T) == 1) return sums_of_bytes<T>(words, group);
    if constexpr (sizeof(T) == 2) return sums_of_halves<T>(words, group);
    Sums sums;
#pragma unroll
    for (unsigned i = group * kInGroup; i < group * kInGroup + kInGroup; ++i)
        sums.add(sums_of_one(integer<T>(words, i)));
    return sums;
}

/// The extremes of numbers in the halves of words.
template <typename T>
class HalfExtremes {
  public:
    __device__ void add(unsigned word, unsigned other) {
        if constexpr (kIsSigned<T>) {
            least_ = __vmins2(least_, __vmins2(word, other));
            most_ = __vmaxs2(most_, __vmaxs2(word, other));
        } else {
            least_ = __vminu2(least_, __vminu2(word, other));
            most_ = __vmaxu2(most_, __vmaxu2(word, other));
        }
    }
    [[nodiscard]] __device__ int minimum() const { return min(low(least_), high(least_)); }
    [[nodiscard]] __device__ int maximum() const { return max(low(most_), high(most_)); }

  private:
    static __device__ int low(unsigned word) { return high(word << 16U); }
    static __device__ int high(unsigned word) {
        return kIsSigned<T> ? static_cast<int>(word) >> 16 : static_cast<int>(word >> 16U);
    }

    unsigned least_ = kIsSigned<T> ? 0x7fff7fffU : UINT32_MAX;
    unsigned most_ = kIsSigned<T> ? 0x80008000U : 0;
};

/// The high byte decides between halves, so the low bytes may be anything.
template <typename T>
__device__ void byte_extremes(const unsigned (&words)[kWords], T& minimum, T& maximum) {
    HalfExtremes<T> extremes;
#pragma unroll
    for (unsigned i = 0; i < kWords; ++i)
        extremes.add(words[i], words[i] << 8U);
    minimum = static_cast<T>(extremes.minimum() >> 8);
    maximum = static_cast<T>(extremes.maximum() >> 8);
}

template <typename T>
__device__ void half_extremes(const unsigned (&words)[kWords], T& minimum, T& maximum) {
    HalfExtremes<T> extremes;
#pragma unroll
    for (unsigned i = 0; i < kWords; i += 2)
        extremes.add(words[i], words[i + 1]);
    minimum = static_cast<T>(extremes.minimum());
    maximum = static_cast<T>(extremes.maximum());
}

/// kBoolean: any nonzero bits mean true, which is 1.
template <typename T, bool kBoolean>
class NarrowIntegers {
  public:
    __device__ void add(const unsigned (&read)[kWords], const Turn& turn) {
        unsigned words[kWords];
#pragma unroll
        for (unsigned i = 0; i < kWords; ++i)
            words[i] = kBoolean ? nonzero_bytes(read[i]) >> 7U : read[i];
        Sums sums;
#pragma unroll
        for (unsigned k = 0; k < kGroups; ++k) {
            const Sums group = sums_of_group<T>(words, k);
            if (k < turn.groups) sums.add(group);
        }
        T least = integer<T>(words, 0);
        T most = least;
        if constexpr (sizeof(T) == 1) {
            byte_extremes<T>(words, least, most);
        } else if constexpr (sizeof(T) == 2) {
            half_extremes<T>(words, least, most);
        } else {
#pragma unroll
            for (unsigned i = 1; i < kNumbers; ++i) {
                least = min(least, integer<T>(words, i));
                most = max(most, integer<T>(words, i));
            }
        }
        take(sums, turn.groups * (kNumbers / kGroups), least, most, turn.number);
    }

    __device__ void add_end(const Turn& turn) {
        GroupBits bits(*turn.from);
#pragma unroll 1
        for (unsigned i = 0; i < turn.in_last; ++i) {
            T number = static_cast<T>(bits.next(8 * sizeof(T)));
            if (kBoolean) number = number != 0 ? 1 : 0;
            take(sums_of_one(number), 1, number, number, turn.number);
        }
    }

    /// Moves the sums to the minimum in integer arithmetic, which is exact.
    template <bool>
    __device__ void finish() const {
        Known known;
        const auto reference = static_cast<std::int64_t>(extremes_.minimum);
        const std::int64_t sum = sum_ - static_cast<std::int64_t>(count_) * reference;
        const SignedWide moved = static_cast<SignedWide>(sum_) + sum;
        const auto squares = static_cast<Wide>(static_cast<SignedWide>(squares_) - moved * reference);
        known.count = count_;
        known.reference = static_cast<double>(reference);
        known.sum = static_cast<double>(sum);
        known.squares = static_cast<double>(static_cast<std::uint64_t>(squares >> 64U)) * 0x1p64 +
                        static_cast<double>(static_cast<std::uint64_t>(squares));
        known.zeros = zeros_;
        known.sum_low = static_cast<std::uint64_t>(sum_);
        known.sum_high = sum_ < 0 ? UINT64_MAX : 0;
        leave_integers(known, extremes_);
    }

  private:
    static constexpr unsigned kNumbers = kWords * 4 / sizeof(T);

    __device__ void take(const Sums& sums, unsigned numbers, T least, T most, unsigned turn) {
        extremes_.add(least, most, turn, count_ == 0);
        count_ += numbers;
        sum_ += sums.sum;
        squares_ += (Wide{sums.squares_high} << 64U) + sums.squares;
        zeros_ += sums.zeros;
    }

    unsigned count_ = 0;
    unsigned zeros_ = 0;
    std::int64_t sum_ = 0;
    Wide squares_ = 0;
    Extremes<T> extremes_{0, 0};
};

/// Handles int64 and uint64. The sum is exact. Squares are of distances from the first number, which are
/// exact unless the numbers of a turn are so far apart that it does not matter.
template <typename T>
class WideIntegers {
  public:
    __device__ void add(const unsigned (&words)[kWords], const Turn& turn) {
        T least = number(words, 0);
        T most = least;
#pragma unroll
        for (unsigned i = 1; i < kNumbers; ++i) {
            least = min(least, number(words, i));
            most = max(most, number(words, i));
        }
        take_extremes(least, most, turn.number);
        const Distances distances(reference_, least, most);
#pragma unroll
        for (unsigned k = 0; k < kGroups; ++k) {
            if (k >= turn.groups) continue;
            take(number(words, 2 * k), distances);
            take(number(words, 2 * k + 1), distances);
        }
    }

    __device__ void add_end(const Turn& turn) {
        const auto last = static_cast<T>(GroupBits(*turn.from).next(64));
        take_extremes(last, last, turn.number);
        take(last, Distances(reference_, last, last));
    }

    template <bool>
    __device__ void finish() const {
        Known known;
        const Wide total = low_words_ + (static_cast<Wide>(static_cast<SignedWide>(high_words_)) << 32U);
        auto reference = static_cast<Wide>(reference_);
        if constexpr (kIsSigned<T>) reference = static_cast<Wide>(static_cast<SignedWide>(reference_));
        const Wide distances = total - reference * count_;
        const bool is_negative = distances >> 127U != 0;
        const Wide magnitude = is_negative ? -distances : distances;
        known.count = count_;
        known.reference = static_cast<double>(reference_);
        known.sum = static_cast<double>(static_cast<std::uint64_t>(magnitude >> 64U)) * 0x1p64 +
                    static_cast<double>(static_cast<std::uint64_t>(magnitude));
        if (is_negative) known.sum = -known.sum;
        known.squares = squares_;
        known.zeros = zeros_;
        known.sum_low = static_cast<std::uint64_t>(total);
        known.sum_high = static_cast<std::uint64_t>(total >> 64U);
        leave_integers(known, extremes_);
    }

  private:
    static constexpr unsigned kNumbers = kWords / 2;

    /// A distance is exact if all of them have at most 62 bits. If not, numbers become doubles first,
    /// unsigned ones less 2^63.
    struct Distances {
        std::uint64_t from;
        double from_there = 0;

        __device__ Distances(T reference, T least, T most) : from(static_cast<std::uint64_t>(reference)) {
            constexpr std::uint64_t kMiddle = kIsSigned<T> ? 0 : std::uint64_t{1} << 63U;
            const auto span = static_cast<std::uint64_t>(max(most, reference)) -
                              static_cast<std::uint64_t>(min(least, reference));
            if (span >> 62U == 0) return;
            from_there = static_cast<double>(static_cast<std::int64_t>(from - kMiddle));
            from = kMiddle;
        }
        [[nodiscard]] __device__ double to(T number) const {
            const auto distance = static_cast<std::int64_t>(static_cast<std::uint64_t>(number) - from);
            return static_cast<double>(distance) - from_there;
        }
    };

    static __device__ T number(const unsigned (&words)[kWords], unsigned i) {
        return static_cast<T>(std::uint64_t{words[2 * i + 1]} << 32U | words[2 * i]);
    }

    /// Must come before the turn's numbers.
    __device__ void take_extremes(T least, T most, unsigned turn) {
        if (count_ == 0) reference_ = least;
        extremes_.add(least, most, turn, count_ == 0);
    }

    __device__ void take(T number, const Distances& distances) {
        const double distance = distances.to(number);
        squares_ = fma(distance, distance, squares_);
        zeros_ += number == 0 ? 1 : 0;
        low_words_ += static_cast<unsigned>(number);
        if constexpr (kIsSigned<T>)
            high_words_ += static_cast<int>(number >> 32U);
        else
            high_words_ += static_cast<unsigned>(number >> 32U);
        ++count_;
    }

    T reference_ = 0;
    unsigned count_ = 0;
    unsigned zeros_ = 0;
    std::uint64_t low_words_ = 0;
    std::int64_t high_words_ = 0;
    double squares_ = 0;
    Extremes<T> extremes_{0, 0};
};

}  // namespace aoti_dbg::device
