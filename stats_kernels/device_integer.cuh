// The exact integer statistics of a thread. Integers up to 32 bits use a sum and a sum of squares. 64-bit
// integers use a 128-bit sum and moments of exact distances.
#pragma once

#include "stats_kernels/device_float.cuh"

namespace aoti_dbg::device {

template <typename T>
inline constexpr bool kIsSigned = static_cast<T>(-1) < static_cast<T>(0);

/// The extremes of a thread's integers and the turns in which they first occurred.
template <typename T>
class IntegerExtremes {
  public:
    __device__ void add(bool any_before, T least, T most, unsigned turn) {
        if (!any_before || least < minimum_) {
            minimum_ = least;
            minimum_turn_ = turn;
        }
        if (!any_before || most > maximum_) {
            maximum_ = most;
            maximum_turn_ = turn;
        }
    }

    [[nodiscard]] __device__ T minimum() const { return minimum_; }

    __device__ void finish(const Known& known) const {
        finish(known, [](T number) {
            if constexpr (kIsSigned<T>)
                return key_of(static_cast<std::int64_t>(number));
            else
                return key_of(static_cast<std::uint64_t>(number));
        });
    }

    /// `key` returns the key of the number that an integer stands for.
    template <typename Key>
    __device__ void finish(Known known, const Key& key) const {
        if (known.count > 0) {
            known.minimum_key = key(minimum_);
            known.maximum_key = key(maximum_);
        }
        leave(known, 0, minimum_turn_, maximum_turn_);
    }

  private:
    T minimum_ = 0;
    T maximum_ = 0;
    unsigned minimum_turn_ = 0;
    unsigned maximum_turn_ = 0;
};

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

/// Handles two numbers at a time.
template <typename T>
__device__ Sums sums_of_halves(const unsigned (&words)[kWords], unsigned group) {
    int total = 0;
    std::uint64_t squares = 0;
    unsigned nonzero = 0;
#pragma unroll
    for (unsigned i = group * 4; i < group * 4 + 4; ++i) {
        if constexpr (kIsSigned<T>)
            total = __dp2a_lo(static_cast<int>(words[i]), 0x0101, total);
        else
            total = static_cast<int>(__dp2a_lo(words[i], 0x0101U, static_cast<unsigned>(total)));
#pragma unroll
        for (unsigned half = 0; half < 2; ++half) {
            const auto bits = static_cast<unsigned>(static_cast<int>(integer<T>(words, 2 * i + half)));
            squares += bits * bits;  // its low 32 bits equal those of the magnitude's square
        }
        const unsigned marks = (((words[i] & 0x7fff7fffU) + 0x7fff7fffU) | words[i]) & 0x80008000U;
        nonzero += marks >> 15U;
    }
    return {total, squares, 0, 8 - (nonzero & 0xffffU) - (nonzero >> 16U)};
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

/// Handles two bytes at a time in halves of a word, biased so that unsigned order applies.
template <typename T>
__device__ void byte_extremes(const unsigned (&words)[kWords], T& minimum, T& maximum) {
    constexpr unsigned kBias = kIsSigned<T> ? 0x80808080U : 0;
    unsigned least = 0x00ff00ffU;
    unsigned most = 0;
#pragma unroll
    for (unsigned i = 0; i < kWords; ++i) {
        const unsigned even = (words[i] ^ kBias) & 0x00ff00ffU;
        const unsigned odd = (words[i] ^ kBias) >> 8U & 0x00ff00ffU;
        least = __vminu2(least, __vminu2(even, odd));
        most = __vmaxu2(most, __vmaxu2(even, odd));
    }
    least = min(least & 0xffffU, least >> 16U);
    most = max(most & 0xffffU, most >> 16U);
    minimum = static_cast<T>(least ^ (kBias & 0xffU));
    maximum = static_cast<T>(most ^ (kBias & 0xffU));
}

template <typename T>
__device__ void half_extremes(const unsigned (&words)[kWords], T& minimum, T& maximum) {
    constexpr unsigned kBias = kIsSigned<T> ? 0x80008000U : 0;
    unsigned least = UINT32_MAX;
    unsigned most = 0;
#pragma unroll
    for (unsigned i = 0; i < kWords; ++i) {
        least = __vminu2(least, words[i] ^ kBias);
        most = __vmaxu2(most, words[i] ^ kBias);
    }
    minimum = static_cast<T>(min(least & 0xffffU, least >> 16U) ^ (kBias & 0xffffU));
    maximum = static_cast<T>(max(most & 0xffffU, most >> 16U) ^ (kBias & 0xffffU));
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
            add_one(number, turn.number);
        }
    }

    __device__ void add_one(T number, unsigned turn) {
        take(sums_of_one(number), 1, number, number, turn);
    }

    template <bool>
    __device__ void finish() const {
        extremes_.finish(known());
    }

    [[nodiscard]] __device__ const IntegerExtremes<T>& extremes() const {
        return extremes_;
    }

    /// Returns all but the extremes. Moves the sums to the minimum in integer arithmetic, which is exact.
    [[nodiscard]] __device__ Known known() const {
        Known known;
        const auto reference = static_cast<std::int64_t>(extremes_.minimum());
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
        return known;
    }

  private:
    static constexpr unsigned kNumbers = kWords * 4 / sizeof(T);

    __device__ void take(const Sums& sums, unsigned numbers, T least, T most, unsigned turn) {
        extremes_.add(count_ > 0, least, most, turn);
        count_ += numbers;
        sum_ += sums.sum;
        squares_ += (Wide{sums.squares_high} << 64U) + sums.squares;
        zeros_ += sums.zeros;
    }

    unsigned count_ = 0;
    unsigned zeros_ = 0;
    std::int64_t sum_ = 0;
    Wide squares_ = 0;
    IntegerExtremes<T> extremes_;
};

/// Handles int64 and uint64.
template <typename T>
class WideIntegers {
  public:
    __device__ void add(const unsigned (&words)[kWords], const Turn& turn) {
#pragma unroll
        for (unsigned i = 0; i < kNumbers; ++i)
            if (i < turn.groups * (kNumbers / kGroups))
                take(static_cast<T>(std::uint64_t{words[2 * i + 1]} << 32U | words[2 * i]), turn.number);
    }

    __device__ void add_end(const Turn& turn) {
        take(static_cast<T>(GroupBits(*turn.from).next(64)), turn.number);
    }

    template <bool>
    __device__ void finish() const {
        Known known;
        known.count = count_;
        known.reference = static_cast<double>(reference_);
        known.sum = sum_;
        known.squares = squares_;
        known.zeros = zeros_;
        known.sum_low = static_cast<std::uint64_t>(total_);
        known.sum_high = static_cast<std::uint64_t>(total_ >> 64U);
        extremes_.finish(known);
    }

  private:
    static constexpr unsigned kNumbers = kWords / 2;

    __device__ void take(T number, unsigned turn) {
        if (count_ == 0) reference_ = number;
        extremes_.add(count_ > 0, number, number, turn);
        const double distance = distance_of(reference_, number);
        sum_ += distance;
        squares_ = fma(distance, distance, squares_);
        zeros_ += number == 0 ? 1 : 0;
        if constexpr (kIsSigned<T>)
            total_ += static_cast<Wide>(static_cast<SignedWide>(number));
        else
            total_ += number;
        ++count_;
    }

    /// Uses the exact distance, because both numbers may exceed 2^53.
    static __device__ double distance_of(T from, T to) {
        const auto a = static_cast<std::uint64_t>(from);
        const auto b = static_cast<std::uint64_t>(to);
        return to >= from ? static_cast<double>(b - a) : -static_cast<double>(a - b);
    }

    T reference_ = 0;
    unsigned count_ = 0;
    unsigned zeros_ = 0;
    double sum_ = 0;
    double squares_ = 0;
    Wide total_ = 0;
    IntegerExtremes<T> extremes_;
};

}  // namespace aoti_dbg::device
