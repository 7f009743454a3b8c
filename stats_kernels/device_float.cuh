// What a thread knows of the floating-point numbers that it has read. The fast way takes all numbers of a
// turn as finite, sums their distances from the first one in the numbers' own precision, and looks at the sum
// of squares: it is finite, and far from underflow, exactly if that was right. If not, the numbers are taken
// one by one in double. Each turn ends in a merge in double, so that no sum ever runs long.
#pragma once

#include "stats_kernels/device_kinds.cuh"

namespace aoti_dbg::device {

/// Whether sums of squares in this type can be trusted; double has no wider type to fall back to.
__device__ inline bool is_ordinary(float squares) {
    return squares >= 0x1p-120F && squares <= 0x1.fffffep127F;
}
__device__ inline bool is_ordinary(double squares) {
    return squares <= 0x1.fffffffffffffp1023;
}

/// 1 / value to some 46 bits, without the division's subroutine.
__device__ inline double reciprocal(double value) {
    const auto guess = static_cast<double>(__frcp_rn(static_cast<float>(value)));
    return guess * fma(-value, guess, 2.0);
}

/// A turn's numbers, one by one.
struct CarefulTurn {
    double count;
    double mean;
    double m2;
    double minimum;
    double maximum;
    unsigned minimum_at;  // number within the turn
    unsigned maximum_at;
    unsigned zeros;
};

__device__ inline std::uint64_t logical_index(std::uint64_t first_group, unsigned element,
                                              unsigned in_group) {
    return (first_group + std::uint64_t{element / in_group} * kBlockThreads) * in_group + element % in_group;
}

/// `numbers` counts both parts of complex elements; `in_group` counts elements.
__device__ __noinline__ void take_carefully(const unsigned* words, DType dtype, unsigned part, unsigned parts,
                                            unsigned numbers, std::uint64_t first_group, unsigned in_group,
                                            CarefulTurn& turn) {
    unsigned kinds[3] = {0, 0, 0};
    unsigned first[3] = {0, 0, 0};
    turn = CarefulTurn{0, 0, 0, INFINITY, -INFINITY, part, part, 0};
    for (unsigned i = part; i < numbers; i += parts) {
        const double number = number_of(dtype, words, i);
        if (number - number == 0) {
            turn.count += 1;
            turn.zeros += number == 0 ? 1 : 0;
            if (number < turn.minimum) {
                turn.minimum = number;
                turn.minimum_at = i;
            }
            if (number > turn.maximum) {
                turn.maximum = number;
                turn.maximum_at = i;
            }
            continue;
        }
        const unsigned kind = number != number ? 0 : (number > 0 ? 1 : 2);
        if (kinds[kind]++ == 0) first[kind] = i;
    }
    if (turn.count > 0) {
        const double weight = 1 / turn.count;
        for (unsigned i = part; i < numbers; i += parts) {
            const double number = number_of(dtype, words, i);
            if (number - number == 0) turn.mean += number * weight;
        }
        for (unsigned i = part; i < numbers; i += parts) {
            const double number = number_of(dtype, words, i);
            const double distance = number - turn.mean;
            if (number - number == 0) turn.m2 += distance * distance;
        }
    }
    Specials& specials = shared().specials[part];
    unsigned long long* counts[3] = {&specials.nan, &specials.positive_infinity, &specials.negative_infinity};
    unsigned long long* firsts[3] = {&specials.first_nan, &specials.first_positive_infinity,
                                     &specials.first_negative_infinity};
    for (unsigned kind = 0; kind < 3; ++kind) {
        if (kinds[kind] == 0) continue;
        atomicAdd(counts[kind], static_cast<unsigned long long>(kinds[kind]));
        atomicMin(firsts[kind], logical_index(first_group, first[kind] / parts, in_group));
    }
}

template <typename Kind, unsigned kPart, unsigned kParts, bool kIndices>
class FloatPart {
  public:
    using Real = typename Kind::Real;

    /// `valid` of the turn's elements are there; the others repeat the first.
    __device__ void add(const unsigned (&words)[kWords], std::uint64_t first_group, unsigned valid) {
        const Real shift = Kind::number(words, kPart);
        Real sum = 0;
        Real squares = 0;
#pragma unroll
        for (unsigned i = kPart; i < Kind::kNumbers; i += kParts) {
            const Real distance = Kind::number(words, i) - shift;
            sum += distance;
            squares = fma(distance, distance, squares);
        }
        Extremes<Real> extremes = Kind::template extremes<kPart, kParts>(words);
        const bool all_equal = squares == 0 && extremes.minimum == extremes.maximum;
        if (!is_ordinary(squares) && !all_equal) return add_carefully(words, first_group, valid);
        if (shift == 0) extremes.zeros -= kElements - valid;
        zeros_ += extremes.zeros;
        add_moments(shift, sum, squares, valid);
        if (extremes.minimum < minimum_) {
            minimum_ = extremes.minimum;
            if (kIndices) minimum_index_ = index_of(words, first_group, minimum_);
        }
        if (extremes.maximum > maximum_) {
            maximum_ = extremes.maximum;
            if (kIndices) maximum_index_ = index_of(words, first_group, maximum_);
        }
    }

    __device__ void finish(PartialStatistics& part) const {
        part.finite = static_cast<std::uint64_t>(count_);
        part.mean = mean_;
        part.m2 = m2_;
        part.zeros = zeros_;
        if (count_ == 0) return;
        part.minimum_key = key_of(static_cast<double>(minimum_));
        part.maximum_key = key_of(static_cast<double>(maximum_));
        part.minimum_index = minimum_index_;
        part.maximum_index = maximum_index_;
    }

  private:
    static constexpr unsigned kElements = Kind::kNumbers / kParts;
    static constexpr unsigned kInGroup = kElements / kGroups;

    __device__ void add_moments(Real shift, Real sum, Real squares, unsigned valid) {
        const auto count = static_cast<double>(valid);
        const auto total_distance = static_cast<double>(sum);
        const double mean_distance =
            valid == kElements ? total_distance * (1.0 / kElements) : total_distance / count;
        const double m2 = fmax(static_cast<double>(squares) - total_distance * mean_distance, 0.0);
        add_moments(count, static_cast<double>(shift) + mean_distance, m2);
    }

    /// merge_moments() of partial.hpp, without its division.
    __device__ void add_moments(double count, double mean, double m2) {
        const double total = count_ + count;
        const double weight = count * reciprocal(total);
        const double distance = mean - mean_;
        if (sizeof(Real) == 4 || distance - distance == 0)
            mean_ += distance * weight;
        else
            mean_ = mean_ * (1 - weight) + mean * weight;
        m2_ += m2;
        if (count_ != 0) m2_ += distance * distance * (count_ * weight);
        count_ = total;
    }

    __device__ void add_carefully(const unsigned (&words)[kWords], std::uint64_t first_group,
                                  unsigned valid) {
        unsigned copy[kWords];  // its address is taken; `words` stay in registers
#pragma unroll
        for (unsigned i = 0; i < kWords; ++i)
            copy[i] = words[i];
        const bool wide = sizeof(Real) == 8;
        const DType dtype = wide || kParts == 2 ? Kind::kDType : shared_job().dtype;
        CarefulTurn turn;
        take_carefully(copy, dtype, kPart, kParts, valid * kParts, first_group, kInGroup, turn);
        if (turn.count == 0) return;
        zeros_ += turn.zeros;
        add_moments(turn.count, turn.mean, turn.m2);
        if (turn.minimum < minimum_) {
            minimum_ = static_cast<Real>(turn.minimum);
            minimum_index_ = logical_index(first_group, turn.minimum_at / kParts, kInGroup);
        }
        if (turn.maximum > maximum_) {
            maximum_ = static_cast<Real>(turn.maximum);
            maximum_index_ = logical_index(first_group, turn.maximum_at / kParts, kInGroup);
        }
    }

    /// Turns come in logical order, and so do a turn's numbers.
    static __device__ std::uint64_t index_of(const unsigned (&words)[kWords], std::uint64_t first_group,
                                             Real wanted) {
        unsigned at = 0;
#pragma unroll
        for (unsigned i = 0; i < kElements; ++i) {
            const unsigned from_end = kElements - 1 - i;
            if (Kind::number(words, from_end * kParts + kPart) == wanted) at = from_end;
        }
        return logical_index(first_group, at, kInGroup);
    }

    double count_ = 0;
    double mean_ = 0;
    double m2_ = 0;
    Real minimum_ = INFINITY;
    Real maximum_ = -INFINITY;
    unsigned zeros_ = 0;
    std::uint64_t minimum_index_ = kNoIndex;
    std::uint64_t maximum_index_ = kNoIndex;
};

template <typename Kind, bool kIndices>
struct RealNumbers {
    FloatPart<Kind, 0, 1, kIndices> part;

    __device__ void add(const unsigned (&words)[kWords], std::uint64_t first_group, unsigned valid) {
        part.add(words, first_group, valid);
    }
    __device__ void finish(PartialStatistics* parts) const { part.finish(parts[0]); }
};

template <typename Kind, bool kIndices>
struct ComplexNumbers {
    FloatPart<Kind, 0, 2, kIndices> real;
    FloatPart<Kind, 1, 2, kIndices> imaginary;

    __device__ void add(const unsigned (&words)[kWords], std::uint64_t first_group, unsigned valid) {
        real.add(words, first_group, valid);
        imaginary.add(words, first_group, valid);
    }
    __device__ void finish(PartialStatistics* parts) const {
        real.finish(parts[0]);
        imaginary.finish(parts[1]);
    }
};

/// Only what is not finite: a number times zero is zero or NaN, and one NaN shows in the sum.
template <typename Kind, unsigned kParts>
struct FindingsOnly {
    __device__ void add(const unsigned (&words)[kWords], std::uint64_t first_group, unsigned valid) {
        using Real = typename Kind::Real;
        Real trace = 0;
#pragma unroll
        for (unsigned i = 0; i < Kind::kNumbers; ++i)
            trace = fma(Kind::number(words, i), Real{0}, trace);
        if (trace == 0) return;
        unsigned copy[kWords];
#pragma unroll
        for (unsigned i = 0; i < kWords; ++i)
            copy[i] = words[i];
        const DType dtype = sizeof(Real) == 8 || kParts == 2 ? Kind::kDType : shared_job().dtype;
        CarefulTurn turn;
        for (unsigned part = 0; part < kParts; ++part)
            take_carefully(copy, dtype, part, kParts, valid * kParts, first_group,
                           Kind::kNumbers / kParts / kGroups, turn);
    }
    __device__ void finish(PartialStatistics*) const {}
};

}  // namespace aoti_dbg::device
