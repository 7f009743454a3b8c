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

/// Returns four signed bytes: twice the numbers of the low four nibbles. No byte borrows from the next one,
/// because 128 is added first.
__device__ inline unsigned doubled_numbers(unsigned nibbles) {
    constexpr unsigned kLow = 0x03020100U;   // twice 0, 0.5, 1, 1.5
    constexpr unsigned kHigh = 0x0c080604U;  // twice 2, 3, 4, 6
    const unsigned positive = select_bytes(kLow, kHigh, nibbles);
    const unsigned negative = select_bytes(kLow, kHigh, nibbles ^ 0x8888U);
    return (positive + 0x80808080U - negative) ^ 0x80808080U;
}

class Float4Numbers {
  public:
    __device__ void add(const unsigned (&words)[kWords], const Turn& turn) {
#pragma unroll
        for (unsigned half = 0; half < 2; ++half) {
            unsigned doubled[kWords];
#pragma unroll
            for (unsigned i = 0; i < kWords; ++i)
                doubled[i] = doubled_numbers(words[i] >> (half * 16));
            doubled_.add(doubled, turn);
        }
    }

    __device__ void add_end(const Turn& turn) {
        GroupBits bits(*turn.from);
#pragma unroll 1
        for (unsigned i = 0; i < turn.in_last * 2; ++i)
            doubled_.add_one(static_cast<std::int8_t>(doubled_numbers(bits.next(4)) & 0xffU), turn.number);
    }

    template <bool>
    __device__ void finish() const {
        Known known = doubled_.known();
        known.reference *= 0.5;
        known.sum *= 0.5;
        known.squares *= 0.25;
        known.sum_low = known.sum_high = 0;
        doubled_.extremes().finish(
            known, [](std::int8_t doubled) { return key_of(static_cast<double>(doubled) * 0.5); });
    }

  private:
    NarrowIntegers<std::int8_t, false> doubled_;
};

}  // namespace aoti_dbg::device
