// What a thread knows of the integers that it has read, exactly: up to 32 bits by their sum and sum of
// squares, 64-bit ones by a 128-bit sum and moments of exact distances.
#pragma once

#include "stats_kernels/device_float.cuh"

namespace aoti_dbg::device {

__extension__ using Wide = unsigned __int128;
__extension__ using SignedWide = __int128;

/// Extremes of a thread's integers and where they are. Wanted as they come, in logical order.
template <typename T, bool kIndices>
struct IntegerExtremes {
    T minimum;
    T maximum;
    bool any = false;
    std::uint64_t minimum_index = kNoIndex;
    std::uint64_t maximum_index = kNoIndex;

    template <typename Find>
    __device__ void add(T least, T most, const Find& find) {
        if (!any || least < minimum) {
            minimum = least;
            if (kIndices) minimum_index = find(least);
        }
        if (!any || most > maximum) {
            maximum = most;
            if (kIndices) maximum_index = find(most);
        }
        any = true;
    }

    template <typename Key>
    __device__ void finish(PartialStatistics& part) const {
        if (!any) return;
        part.minimum_key = key_of(static_cast<Key>(minimum));
        part.maximum_key = key_of(static_cast<Key>(maximum));
        part.minimum_index = minimum_index;
        part.maximum_index = maximum_index;
    }
};

template <typename T>
struct IsSigned {
    static constexpr bool value = static_cast<T>(-1) < static_cast<T>(0);
};

template <typename T>
__device__ T integer(const unsigned (&words)[kWords], unsigned i) {
    if constexpr (sizeof(T) == 4) return static_cast<T>(words[i]);
    if constexpr (sizeof(T) == 2) return static_cast<T>(words[i / 2] >> (i % 2 * 16));
    return static_cast<T>(words[i / 4] >> (i % 4 * 8));
}

/// A turn's sums. 8 bits: four at a time by the dot-product instruction, which bandwidth needs.
template <typename T>
struct TurnSums {
    std::int64_t sum = 0;
    std::uint64_t squares = 0;
    unsigned squares_high = 0;
    unsigned zeros = 0;

    __device__ explicit TurnSums(const unsigned (&words)[kWords]) {
        if constexpr (sizeof(T) == 1)
            add_bytes(words);
        else
            add_each(words);
    }

  private:
    __device__ void add_bytes(const unsigned (&words)[kWords]) {
        int total = 0;
        int square_total = 0;
        unsigned nonzero = 0;  // times 128
#pragma unroll
        for (unsigned i = 0; i < kWords; ++i) {
            if constexpr (IsSigned<T>::value) {
                total = __dp4a(static_cast<int>(words[i]), 0x01010101, total);
                square_total = __dp4a(static_cast<int>(words[i]), static_cast<int>(words[i]), square_total);
            } else {
                total = static_cast<int>(__dp4a(words[i], 0x01010101U, static_cast<unsigned>(total)));
                square_total =
                    static_cast<int>(__dp4a(words[i], words[i], static_cast<unsigned>(square_total)));
            }
            const unsigned marks = (((words[i] & 0x7f7f7f7fU) + 0x7f7f7f7fU) | words[i]) & 0x80808080U;
            nonzero = __dp4a(marks, 0x01010101U, nonzero);
        }
        sum = total;
        squares = static_cast<std::uint64_t>(square_total);
        zeros = kWords * 4 - nonzero / 128;
    }

    /// In the narrowest multiplication that holds it.
    static __device__ std::uint64_t square_of(T number) {
        if constexpr (sizeof(T) == 2) {
            const auto bits = static_cast<unsigned>(static_cast<int>(number));  // modulo 2^32 is enough
            return bits * bits;
        } else if constexpr (IsSigned<T>::value) {
            return static_cast<std::uint64_t>(static_cast<std::int64_t>(number) * number);
        } else {
            return static_cast<std::uint64_t>(number) * number;
        }
    }

    __device__ void add_each(const unsigned (&words)[kWords]) {
#pragma unroll
        for (unsigned i = 0; i < kWords * 4 / sizeof(T); ++i) {
            const T number = integer<T>(words, i);
            const std::uint64_t square = square_of(number);
            sum += static_cast<std::int64_t>(number);
            squares += square;
            if constexpr (sizeof(T) == 4) squares_high += squares < square ? 1 : 0;
            zeros += number == 0 ? 1 : 0;
        }
    }
};

/// Bytes two at a time in halves of a word, moved so that unsigned order is theirs.
template <typename T>
__device__ void byte_extremes(const unsigned (&words)[kWords], T& minimum, T& maximum) {
    const unsigned bias = IsSigned<T>::value ? 0x80808080U : 0;
    unsigned least = 0x00ff00ffU;
    unsigned most = 0;
#pragma unroll
    for (unsigned i = 0; i < kWords; ++i) {
        const unsigned even = (words[i] ^ bias) & 0x00ff00ffU;
        const unsigned odd = (words[i] ^ bias) >> 8U & 0x00ff00ffU;
        least = __vminu2(least, __vminu2(even, odd));
        most = __vmaxu2(most, __vmaxu2(even, odd));
    }
    least = min(least & 0xffffU, least >> 16U);
    most = max(most & 0xffffU, most >> 16U);
    minimum = static_cast<T>(least ^ (bias & 0xffU));
    maximum = static_cast<T>(most ^ (bias & 0xffU));
}

/// kBoolean: any bits but zero are true, which is 1.
template <typename T, bool kBoolean, bool kIndices>
class NarrowIntegers {
  public:
    __device__ void add(const unsigned (&read)[kWords], std::uint64_t first_group, unsigned valid) {
        unsigned words[kWords];
#pragma unroll
        for (unsigned i = 0; i < kWords; ++i) {
            words[i] = read[i];
            if (kBoolean)
                words[i] = ((((read[i] & 0x7f7f7f7fU) + 0x7f7f7f7fU) | read[i]) & 0x80808080U) >> 7U;
        }
        const TurnSums<T> sums(words);
        const auto missing = static_cast<std::int64_t>(kNumbers - valid);
        const auto first = static_cast<std::int64_t>(integer<T>(words, 0));
        count_ += valid;
        sum_ += sums.sum - missing * first;
        squares_ += (Wide{sums.squares_high} << 64U) + sums.squares;
        squares_ -= Wide{static_cast<std::uint64_t>(first) * static_cast<std::uint64_t>(first)} *
                    static_cast<std::uint64_t>(missing);
        zeros_ += sums.zeros - (first == 0 ? kNumbers - valid : 0);
        T least = integer<T>(words, 0);
        T most = least;
        if constexpr (sizeof(T) == 1) {
            byte_extremes<T>(words, least, most);
        } else {
#pragma unroll
            for (unsigned i = 1; i < kNumbers; ++i) {
                least = min(least, integer<T>(words, i));
                most = max(most, integer<T>(words, i));
            }
        }
        extremes_.add(least, most, [&](T number) {
            unsigned at = 0;
#pragma unroll
            for (unsigned i = 0; i < kNumbers; ++i)
                if (integer<T>(words, kNumbers - 1 - i) == number) at = kNumbers - 1 - i;
            return logical_index(first_group, at, kNumbers / kGroups);
        });
    }

    /// m2 is (n * squares - sum * sum) / n: below 2^127 for fewer than 2^31 numbers a thread.
    __device__ void finish(PartialStatistics* parts) const {
        PartialStatistics& part = parts[0];
        if (count_ == 0) return;
        const auto magnitude = static_cast<std::uint64_t>(sum_ < 0 ? -sum_ : sum_);
        const Wide spread = squares_ * count_ - Wide{magnitude} * magnitude;
        const double m2 = static_cast<double>(static_cast<std::uint64_t>(spread >> 64U)) * 0x1p64 +
                          static_cast<double>(static_cast<std::uint64_t>(spread));
        part.finite = count_;
        part.mean = static_cast<double>(sum_) / static_cast<double>(count_);
        part.m2 = m2 / static_cast<double>(count_);
        part.zeros = zeros_;
        part.sum_low = static_cast<std::uint64_t>(sum_);
        part.sum_high = sum_ < 0 ? UINT64_MAX : 0;
        if constexpr (IsSigned<T>::value)
            extremes_.template finish<std::int64_t>(part);
        else
            extremes_.template finish<std::uint64_t>(part);
    }

  private:
    static constexpr unsigned kNumbers = kWords * 4 / sizeof(T);

    std::uint64_t count_ = 0;
    std::int64_t sum_ = 0;
    Wide squares_ = 0;
    unsigned zeros_ = 0;
    IntegerExtremes<T, kIndices> extremes_;
};

/// int64 and uint64.
template <typename T, bool kIndices>
class WideIntegers {
  public:
    __device__ void add(const unsigned (&words)[kWords], std::uint64_t first_group, unsigned valid) {
        const T shift = number(words, 0);
        T least = shift;
        T most = shift;
        double sum = 0;
        double squares = 0;
#pragma unroll
        for (unsigned i = 0; i < kNumbers; ++i) {
            const T value = number(words, i);
            least = value < least ? value : least;
            most = value > most ? value : most;
            const double distance = distance_of(shift, value);
            sum += distance;
            squares = fma(distance, distance, squares);
            if (i >= valid) continue;
            zeros_ += value == 0 ? 1 : 0;
            total_ += extended(value);
        }
        const double mean_distance = sum / valid;
        merge_moments(count_, mean_, m2_, valid, static_cast<double>(shift) + mean_distance,
                      fmax(squares - sum * mean_distance, 0.0));
        extremes_.add(least, most, [&](T wanted) {
            unsigned at = 0;
#pragma unroll
            for (unsigned i = 0; i < kNumbers; ++i)
                if (number(words, kNumbers - 1 - i) == wanted) at = kNumbers - 1 - i;
            return logical_index(first_group, at, kNumbers / kGroups);
        });
    }

    __device__ void finish(PartialStatistics* parts) const {
        PartialStatistics& part = parts[0];
        part.finite = static_cast<std::uint64_t>(count_);
        part.mean = mean_;
        part.m2 = m2_;
        part.zeros = zeros_;
        part.sum_low = static_cast<std::uint64_t>(total_);
        part.sum_high = static_cast<std::uint64_t>(total_ >> 64U);
        extremes_.template finish<T>(part);
    }

  private:
    static constexpr unsigned kNumbers = kWords / 2;

    static __device__ T number(const unsigned (&words)[kWords], unsigned i) {
        return static_cast<T>(std::uint64_t{words[2 * i + 1]} << 32U | words[2 * i]);
    }

    static __device__ Wide extended(T value) {
        if constexpr (IsSigned<T>::value)
            return static_cast<Wide>(static_cast<SignedWide>(value));
        else
            return value;
    }

    /// From the exact distance: both may be beyond 2^53.
    static __device__ double distance_of(T from, T to) {
        const auto a = static_cast<std::uint64_t>(from);
        const auto b = static_cast<std::uint64_t>(to);
        return to >= from ? static_cast<double>(b - a) : -static_cast<double>(a - b);
    }

    double count_ = 0;
    double mean_ = 0;
    double m2_ = 0;
    Wide total_ = 0;
    unsigned zeros_ = 0;
    IntegerExtremes<T, kIndices> extremes_;
};

}  // namespace aoti_dbg::device
