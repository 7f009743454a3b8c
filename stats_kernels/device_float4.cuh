// The statistics of float4_e2m1fn_x2, whose bytes hold two numbers each. Twice such a number is an integer,
// so these statistics are those of int8 and exact.
#pragma once

#include "stats_kernels/device_integer.cuh"

namespace aoti_dbg::device {

/// Returns the bytes of a table of eight that the low four nibbles select. Bit 3 of a nibble selects 0, as
/// long as no byte of the table is negative.
__device__ inline unsigned select_bytes(unsigned low, unsigned high, unsigned nibbles) {
    unsigned bytes;
    asm("prmt.b32 %0, %1, %2, %3;" : "=r"(bytes) : "r"(low), "r"(high), "r"(nibbles));
    return bytes;
}

/// Twice the magnitudes 0, 0.5, 1, 1.5, 2, 3, 4, 6.
inline constexpr unsigned kDoubledLow = 0x03020100U;
inline constexpr unsigned kDoubledHigh = 0x0c080604U;

__device__ inline unsigned doubled_numbers(unsigned nibbles) {
    return select_bytes(kDoubledLow, kDoubledHigh, nibbles);
}

/// As many ones as there are lesser magnitudes.
__device__ inline unsigned ones_of_numbers(unsigned nibbles) {
    return select_bytes(0x07030100U, 0x7f3f1f0fU, nibbles);
}

inline constexpr unsigned kSigns4 = 0x88888888U;

/// The sums of whole groups. Each lookup takes four numbers. A negative number is its magnitude, less twice
/// that, so the second lookup takes only the positive ones.
struct Float4Sums {
    int sum = 0;
    int squares = 0;
    unsigned zeros = 0;

    /// `low` is kDoubledLow, in a register: an instruction takes only one constant.
    template <unsigned kCount>
    __device__ void add(const unsigned (&words)[kCount], unsigned low) {
#pragma unroll
        for (unsigned i = 0; i < kCount; i += 4) {
            unsigned nonzero = 0;
#pragma unroll
            for (unsigned k = i; k < i + 4; ++k) {
                const unsigned magnitudes = words[k] & ~kSigns4;
                add(words[k], magnitudes, low);
                add(words[k] >> 16U, magnitudes >> 16U, low);
                nonzero = (nonzero >> 1U) + ((magnitudes + ~kSigns4) & kSigns4);
            }
            zeros += 32 - __popc(static_cast<int>(nonzero));
        }
    }

  private:
    __device__ void add(unsigned nibbles, unsigned magnitudes, unsigned low) {
        const auto positive = static_cast<int>(select_bytes(low, kDoubledHigh, nibbles));
        const auto all = static_cast<int>(select_bytes(low, kDoubledHigh, magnitudes));
        sum = __dp4a(positive, 0x02020202, sum);
        sum = __dp4a(all, -1, sum);
        squares = __dp4a(all, all, squares);
    }
};

/// Which magnitudes there are of positive and of negative numbers. The ones of the greatest one are those of
/// any, and the ones of the least one are those of all.
struct Float4Extremes {
    unsigned positive = 0;
    unsigned negative = 0;
    unsigned least = ~0U;

    __device__ void add(unsigned nibbles) {
        const unsigned of_positive = ones_of_numbers(nibbles);
        const unsigned of_negative = ones_of_numbers(nibbles ^ kSigns4);
        positive |= of_positive;
        negative |= of_negative;
        least &= of_positive | of_negative;
    }
    [[nodiscard]] __device__ int maximum() const {
        return positive != 0 ? doubled(any(positive)) : -lowest();
    }
    [[nodiscard]] __device__ int minimum() const {
        return negative != 0 ? -doubled(any(negative)) : lowest();
    }

  private:
    [[nodiscard]] __device__ int lowest() const { return doubled(~any(~least)); }
    static __device__ unsigned any(unsigned bytes) {
        bytes |= bytes >> 16U;
        return bytes | bytes >> 8U;
    }
    static __device__ int doubled(unsigned ones) {
        return static_cast<int>(
            doubled_numbers(static_cast<unsigned>(__popc(static_cast<int>(ones & 0x7fU)))) & 0xffU);
    }
};

class Float4Numbers {
  public:
    __device__ void add(const unsigned (&words)[kWords], const Turn& turn) {
        Float4Sums sums;
        if (__builtin_expect(turn.groups == kGroups, 1)) {
            sums.add(words, table_low_);
        } else {
#pragma unroll 1
            for (unsigned k = 0; k < turn.groups; ++k) {
                unsigned group[4];
                words_of(turn.from[k * kBlockThreads], group);
                sums.add(group, table_low_);
            }
        }
        take(sums, turn.groups * kInGroup);
        // Most tensors have both extremes of the dtype, in which case there is nothing to look for.
        if (extremes_.maximum - extremes_.minimum == 2 * kMost) return;
        Float4Extremes extremes;
#pragma unroll 1
        for (unsigned k = 0; k < turn.groups; ++k) {
            unsigned group[4];
            words_of(turn.from[k * kBlockThreads], group);
#pragma unroll
            for (unsigned i = 0; i < 4; ++i) {
                extremes.add(group[i]);
                extremes.add(group[i] >> 16U);
            }
        }
        extremes_.add(extremes.minimum(), extremes.maximum(), turn.number);
    }

    __device__ void add_end(const Turn& turn) {
        GroupBits bits(*turn.from);
#pragma unroll 1
        for (unsigned i = 0; i < turn.in_last * 2; ++i) {
            const auto nibble = static_cast<unsigned>(bits.next(4));
            const auto magnitude = static_cast<int>(doubled_numbers(nibble & 7U) & 0xffU);
            const int doubled = nibble > 7 ? -magnitude : magnitude;
            take({doubled, doubled * doubled, doubled == 0 ? 1U : 0U}, 1);
            extremes_.add(doubled, doubled, turn.number);
        }
    }

    /// Moves the sums to the minimum, which is exact.
    template <bool>
    __device__ void finish() const {
        Known known;
        const int minimum = extremes_.minimum;
        const std::int64_t sum = sum_ - std::int64_t{count_} * minimum;
        known.count = count_;
        known.reference = minimum * 0.5;
        known.sum = static_cast<double>(sum) * 0.5;
        known.squares = static_cast<double>(squares_ - (sum_ + sum) * minimum) * 0.25;
        known.zeros = zeros_;
        if (count_ > 0) {
            known.minimum_key = key_of(minimum * 0.5);
            known.maximum_key = key_of(extremes_.maximum * 0.5);
        }
        leave(known, 0, extremes_.minimum_turn, extremes_.maximum_turn);
    }

  private:
    static constexpr int kMost = 12;
    static constexpr unsigned kInGroup = 32;

    __device__ void take(const Float4Sums& sums, unsigned numbers) {
        count_ += numbers;
        sum_ += sums.sum;
        squares_ += sums.squares;
        zeros_ += sums.zeros;
    }

    // The compiler does not know that an element has one byte, so it keeps this in a register.
    unsigned table_low_ = kDoubledLow + (shared_job().bytes - 1U);
    unsigned count_ = 0;
    unsigned zeros_ = 0;
    std::int64_t sum_ = 0;
    std::int64_t squares_ = 0;
    Extremes<int> extremes_{kMost + 1, -kMost - 1};
};

}  // namespace aoti_dbg::device
