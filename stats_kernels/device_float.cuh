// The floating-point statistics of a thread. The fast path assumes that all numbers of a turn are finite. It
// sums their distances from one of them in the numbers' own precision and checks the sum of squares. That sum
// is finite, and far from underflow, exactly if the assumption was right. Otherwise the numbers are added one
// by one in double. Each turn is added up in double, so that no float sum runs long.
#pragma once

#include "stats_kernels/device_finish.cuh"
#include "stats_kernels/device_kinds.cuh"

namespace aoti_dbg::device {

/// Returns whether the sums of squares can be trusted. For double there is no wider type to fall back to.
__device__ inline bool is_ordinary(float squares) {
    return squares >= 0x1p-120F && squares <= 0x1.fffffep127F;
}
__device__ inline bool is_ordinary(double squares) {
    return squares <= 0x1.fffffffffffffp1023;
}

/// The NaN, +Inf and -Inf of a turn, 8 bits for each: the count and the position of the first.
struct TurnSpecials {
    unsigned counts = 0;
    unsigned firsts = 0;

    template <typename Real>
    __device__ void add(Real number, unsigned at) {
        const unsigned shift = number != number ? 0 : (number > 0 ? 8 : 16);
        if ((counts >> shift & 0xffU) == 0) firsts |= at << shift;
        counts += 1U << shift;
    }
};

/// This is inlined, because a call in a sweep's loop would cost registers in every turn.
__device__ inline void note_specials(TurnSpecials found, unsigned part, unsigned turn, unsigned in_group) {
    Specials& specials = shared().specials[part];
    unsigned long long* counts = &specials.nan;
    unsigned long long* firsts = &specials.first_nan;
    const TurnGroups groups = groups_of(turn);
#pragma unroll 1
    for (unsigned kind = 0; kind < 3; ++kind) {
        const unsigned count = found.counts >> (kind * 8) & 0xffU;
        const unsigned at = found.firsts >> (kind * 8) & 0xffU;
        if (count == 0) continue;
        atomicAdd(counts + kind, static_cast<unsigned long long>(count));
        const std::uint64_t group = groups.first + at / in_group * groups.step;
        const unsigned long long index = group * in_group + at % in_group;
        if (index < *static_cast<volatile unsigned long long*>(firsts + kind))
            atomicMin(firsts + kind, index);
    }
}

/// Sums in double around the first number. The float sums of a turn are around one of its own numbers, so the
/// size of that number does not matter.
class FloatMoments {
  public:
    __device__ void add(unsigned before, unsigned count, float shift, float sum, float squares) {
        if (before == 0) reference_ = shift;
        const double distance = static_cast<double>(shift) - static_cast<double>(reference_);
        const auto own_sum = static_cast<double>(sum);
        const double moved_sum = fma(static_cast<double>(count), distance, own_sum);
        sum_ += moved_sum;
        squares_ += static_cast<double>(squares);
        squares_ = fma(distance, moved_sum + own_sum, squares_);
    }
    __device__ void add(unsigned before, float number) {
        if (before == 0) reference_ = number;
        const double distance = static_cast<double>(number) - static_cast<double>(reference_);
        sum_ += distance;
        squares_ = fma(distance, distance, squares_);
    }
    __device__ void finish(Known& known) const {
        known.reference = static_cast<double>(reference_);
        known.sum = sum_;
        known.squares = squares_;
    }

  private:
    float reference_ = 0;
    double sum_ = 0;
    double squares_ = 0;
};

/// Works like merge_moments() of partial.hpp without its division. Sums of doubles could overflow, but a mean
/// cannot.
class DoubleMoments {
  public:
    __device__ void add(unsigned before, unsigned count, double shift, double sum, double squares) {
        const double mean_distance = sum * reciprocal(count);
        merge(before, count, shift + mean_distance, fmax(squares - sum * mean_distance, 0.0));
    }
    __device__ void add(unsigned before, double number) { merge(before, 1, number, 0); }
    __device__ void finish(Known& known) const {
        known.reference = mean_;
        known.squares = m2_;
    }

  private:
    __device__ void merge(unsigned before, unsigned count, double mean, double m2) {
        const double weight = before == 0 ? 1.0 : count * reciprocal(static_cast<double>(before) + count);
        const double distance = mean - mean_;
        if (distance - distance == 0)
            mean_ += distance * weight;
        else
            mean_ = mean_ * (1 - weight) + mean * weight;
        m2_ += m2;
        if (before != 0) m2_ += distance * distance * (before * weight);
    }

    double mean_ = 0;
    double m2_ = 0;
};

template <typename Real>
struct MomentsOf;
template <>
struct MomentsOf<float> {
    using Type = FloatMoments;
};
template <>
struct MomentsOf<double> {
    using Type = DoubleMoments;
};

/// Returns the median of three, so that a single outlier does not determine the rounding of distances.
/// Doubles are summed in double anyway.
__device__ inline float middle_of(float a, float b, float c) {
    return fmaxf(fminf(a, b), fminf(fmaxf(a, b), c));
}
__device__ inline double middle_of(double a, double, double) {
    return a;
}

template <typename Kind, unsigned kPart, unsigned kParts>
class FloatPart {
  public:
    using Real = typename Kind::Real;

    __device__ void add(const unsigned (&words)[kWords], const Turn& turn) {
        const Real shift = middle_of(Kind::number(words, kPart), Kind::number(words, kNumbersInGroup + kPart),
                                     Kind::number(words, 2 * kNumbersInGroup + kPart));
        Real sum = 0;
        Real squares = 0;
#pragma unroll
        for (unsigned k = 0; k < kGroups; ++k) {
            Real group_sum = 0;
            Real group_squares = 0;
#pragma unroll
            for (unsigned i = kPart; i < kNumbersInGroup; i += kParts) {
                const Real distance = Kind::number(words, k * kNumbersInGroup + i) - shift;
                group_sum += distance;
                group_squares = fma(distance, distance, group_squares);
            }
            if (k < turn.groups) {
                sum += group_sum;
                squares += group_squares;
            }
        }
        const Extremes<Real> extremes = Kind::template extremes<kPart, kParts>(words, turn.groups);
        const bool all_equal = squares == 0 && extremes.minimum == extremes.maximum;
        if (!is_ordinary(squares) && !all_equal) return add_carefully(turn);
        const unsigned numbers = turn.groups * kInGroup;
        moments_.add(count_, numbers, shift, sum, squares);
        count_ += numbers;
        zeros_ += extremes.zeros;
        take_extremes(extremes.minimum, extremes.maximum, turn.number);
    }

    /// Handles the end of the tensor and turns with numbers that are not finite or too far apart for their
    /// own precision.
    __device__ void add_carefully(const Turn& turn) {
        TurnSpecials specials;
#pragma unroll 1
        for (unsigned k = 0; k < turn.groups; ++k) {
            GroupBits bits(turn.from[k * kBlockThreads]);
            const unsigned numbers = (k + 1 == turn.groups ? turn.in_last : kInGroup) * kParts;
#pragma unroll 1
            for (unsigned i = 0; i < numbers; ++i) {
                const Real number = Kind::decode(bits.next(128 / kNumbersInGroup));
                if (i % kParts != kPart) continue;
                if (number - number != 0) {
                    specials.add(number, (turn.before + k) * kInGroup + i / kParts);
                    continue;
                }
                moments_.add(count_, number);
                ++count_;
                zeros_ += number == 0 ? 1 : 0;
                take_extremes(number, number, turn.number);
            }
        }
        if (specials.counts != 0) note_specials(specials, kPart, turn.number, kInGroup);
    }

    template <bool kHere>
    __device__ void finish() const {
        Known known;
        known.count = count_;
        moments_.finish(known);
        known.zeros = zeros_;
        if (count_ > 0) {
            known.minimum_key = key_of(static_cast<double>(minimum_));
            known.maximum_key = key_of(static_cast<double>(maximum_));
        }
        if constexpr (kHere)
            leave_here(known, kPart, minimum_turn_, maximum_turn_);
        else
            leave(known, kPart, minimum_turn_, maximum_turn_);
    }

  private:
    static constexpr unsigned kNumbersInGroup = Kind::kNumbers / kGroups;
    static constexpr unsigned kInGroup = kNumbersInGroup / kParts;

    /// Turns come in logical order, so the first one that has an extreme keeps it.
    __device__ void take_extremes(Real minimum, Real maximum, unsigned turn) {
        if (minimum < minimum_) {
            minimum_ = minimum;
            minimum_turn_ = turn;
        }
        if (maximum > maximum_) {
            maximum_ = maximum;
            maximum_turn_ = turn;
        }
    }

    typename MomentsOf<Real>::Type moments_;
    Real minimum_ = INFINITY;
    Real maximum_ = -INFINITY;
    unsigned count_ = 0;
    unsigned zeros_ = 0;
    unsigned minimum_turn_ = 0;
    unsigned maximum_turn_ = 0;
};

template <typename Kind>
struct RealNumbers {
    FloatPart<Kind, 0, 1> part;

    __device__ void add(const unsigned (&words)[kWords], const Turn& turn) { part.add(words, turn); }
    __device__ void add_end(const Turn& turn) { part.add_carefully(turn); }
    template <bool kHere>
    __device__ void finish() const {
        part.template finish<kHere>();
    }
};

template <typename Kind>
struct ComplexNumbers {
    FloatPart<Kind, 0, 2> real;
    FloatPart<Kind, 1, 2> imaginary;

    __device__ void add(const unsigned (&words)[kWords], const Turn& turn) {
        real.add(words, turn);
        imaginary.add(words, turn);
    }
    __device__ void add_end(const Turn& turn) {
        real.add_carefully(turn);
        imaginary.add_carefully(turn);
    }
    template <bool>
    __device__ void finish() const {
        real.template finish<false>();
        imaginary.template finish<false>();
    }
};

/// Finds only NaN and Inf: a finite number times zero is zero, and any other number makes the sum NaN.
template <typename Kind, unsigned kParts>
struct FindingsOnly {
    __device__ void add(const unsigned (&words)[kWords], const Turn& turn) {
        using Real = typename Kind::Real;
        Real trace[kGroups] = {};
#pragma unroll
        for (unsigned i = 0; i < Kind::kNumbers; ++i)
            trace[i % kGroups] = fma(Kind::number(words, i), Real{0}, trace[i % kGroups]);
        if (trace[0] + trace[1] + (trace[2] + trace[3]) != 0) add_end(turn);
    }
    __device__ void add_end(const Turn& turn) {
        constexpr unsigned kNumbersInGroup = Kind::kNumbers / kGroups;
        TurnSpecials specials[kParts];
#pragma unroll 1
        for (unsigned k = 0; k < turn.groups; ++k) {
            GroupBits bits(turn.from[k * kBlockThreads]);
            const unsigned elements = k + 1 == turn.groups ? turn.in_last : kNumbersInGroup / kParts;
#pragma unroll 1
            for (unsigned i = 0; i < elements; ++i) {
#pragma unroll
                for (unsigned part = 0; part < kParts; ++part) {
                    const typename Kind::Real number = Kind::decode(bits.next(128 / kNumbersInGroup));
                    if (number - number != 0)
                        specials[part].add(number, (turn.before + k) * (kNumbersInGroup / kParts) + i);
                }
            }
        }
#pragma unroll
        for (unsigned part = 0; part < kParts; ++part)
            if (specials[part].counts != 0)
                note_specials(specials[part], part, turn.number, kNumbersInGroup / kParts);
    }
    template <bool>
    __device__ void finish() const {
        for (unsigned part = 0; part < kParts; ++part)
            leave({}, part, 0, 0);
    }
};

}  // namespace aoti_dbg::device
