// The floating-point statistics of a thread. The fast path assumes that all numbers of a turn are finite. It
// sums their distances from one of them in the numbers' own precision and checks the sum of squares. That sum
// is finite, and far from underflow, exactly if the assumption was right. Otherwise the turn is summed
// without the numbers that are not finite, or one by one in double. Each turn is added up in double, so that
// no float sum runs long.
#pragma once

#include "stats_kernels/device_finish.cuh"
#include "stats_kernels/device_mixed.cuh"

namespace aoti_dbg::device {

/// Returns whether the sums of squares can be trusted. For double there is no wider type to fall back to.
__device__ inline bool is_ordinary(float squares) {
    return squares >= 0x1p-120F && squares <= 0x1.fffffep127F;
}
__device__ inline bool is_ordinary(double squares) {
    return squares <= 0x1.fffffffffffffp1023;
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
        Suspect suspect;
        if (__builtin_expect(add_ordinary(words, turn, suspect), 1)) return;
        if constexpr (kHasRuns) {
            TurnSpecials specials;
            if (add_run<Kind>(words, turn.groups, specials)) return note(specials, turn);
        }
        add_suspect(turn, suspect);
    }

    /// What is known of a turn that needs care.
    struct Suspect {
        Real shift;                // one of its numbers, finite if any of them is
        bool is_in_range = false;  // no sum shows NaN or Inf
    };

    /// Returns false, and adds nothing, if the turn needs care.
    __device__ __forceinline__ bool add_ordinary(const unsigned (&words)[kWords], const Turn& turn,
                                                 Suspect& suspect) {
        const Real shift = shift_of(words);
        TurnSums<Real> sums;
        if constexpr (Kind::kPaired && kParts == 1)
            sums = paired_sums<Kind>(words, turn.groups, shift);
        else
            sums = plain_sums<Kind, kPart, kParts>(words, turn.groups, shift);
        if (__builtin_expect(is_trusted(sums), 1)) {
            take(sums, turn.groups * kInGroup, shift, turn.number);
            return true;
        }
        suspect.shift = is_finite(shift) ? shift : (is_finite(sums.minimum) ? sums.minimum : sums.maximum);
        suspect.is_in_range = is_finite(sums.squares);
        return false;
    }

    /// Reads the turn once more.
    __device__ __forceinline__ void add_suspect(const Turn& turn, const Suspect& suspect) {
        TurnSpecials specials;
        bool is_added = false;
        // Complex numbers are too rare for the code.
        if constexpr (kParts == 1)
            is_added = !suspect.is_in_range && add_mixed(turn, suspect.shift, specials);
        if (!is_added) add_carefully(turn, specials);
        note(specials, turn);
    }

    __device__ void add_end(const Turn& turn) {
        TurnSpecials specials;
        add_carefully(turn, specials);
        if (specials.counts != 0) note_specials(specials, kPart, turn);
    }

    template <bool kHere>
    __device__ void finish() const {
        if constexpr (kParts == 1) specials_.leave(kPart);
        Known known;
        known.count = count_;
        moments_.finish(known);
        known.zeros = zeros_;
        if (count_ > 0) {
            known.minimum_key = key_of(static_cast<double>(extremes_.minimum));
            known.maximum_key = key_of(static_cast<double>(extremes_.maximum));
        }
        if constexpr (kHere)
            leave_here(known, kPart, extremes_.minimum_turn, extremes_.maximum_turn);
        else
            leave(known, kPart, extremes_.minimum_turn, extremes_.maximum_turn);
    }

  private:
    static __device__ Real shift_of(const unsigned (&words)[kWords]) {
        return middle_of(Kind::number(words, kPart), Kind::number(words, kNumbersInGroup + kPart),
                         Kind::number(words, 2 * kNumbersInGroup + kPart));
    }

    __device__ __forceinline__ void note(const TurnSpecials& found, const Turn& turn) {
        if constexpr (kParts == 1)
            specials_.add(found, turn);
        else if (found.counts != 0)
            note_specials(found, kPart, turn);
    }

    /// Handles the end of the tensor and turns with numbers that are too far apart for their own precision.
    __device__ void add_carefully(const Turn& turn, TurnSpecials& specials) {
#pragma unroll 1
        for (unsigned k = turn.groups; k-- > 0;) {
            GroupBits bits(turn.from[k * kBlockThreads]);
            const unsigned numbers = (k + 1 == turn.groups ? turn.in_last : kInGroup) * kParts;
#pragma unroll 1
            for (unsigned i = 0; i < numbers; ++i) {
                const Real number = Kind::decode(bits.next(128 / kNumbersInGroup));
                if (i % kParts != kPart) continue;
                if (!is_finite(number)) {
                    specials.add(number, k);
                    continue;
                }
                moments_.add(count_, number);
                ++count_;
                zeros_ += number == 0 ? 1 : 0;
                extremes_.add(number, number, turn.number);
            }
        }
    }

    static constexpr unsigned kNumbersInGroup = Kind::kNumbers / kGroups;
    static constexpr unsigned kInGroup = kNumbersInGroup / kParts;
    static constexpr bool kHasRuns = kParts == 1 && kIsMasked<Kind>;

    static __device__ bool is_trusted(const TurnSums<Real>& sums) {
        return is_ordinary(sums.squares) || (sums.squares == 0 && sums.minimum == sums.maximum);
    }

    /// Handles turns with NaN and Inf. Returns false if they need more care. If `shift` is one of them, there
    /// is no finite number, or both infinities are there.
    __device__ bool add_mixed(const Turn& turn, Real shift, TurnSpecials& specials) {
        const bool has_shift = is_finite(shift);
        const MixedSums<Real> mixed = mixed_sums<Kind, true>(turn, has_shift ? shift : 0);
        const unsigned finite = turn.groups * kInGroup - mixed.specials.count();
        if (finite > 0) {
            if (!has_shift || !is_trusted(mixed.finite)) return false;
            take(mixed.finite, finite, shift, turn.number);
        }
        specials = mixed.specials;
        return true;
    }

    __device__ void take(const TurnSums<Real>& sums, unsigned numbers, Real shift, unsigned turn) {
        moments_.add(count_, numbers, shift, sums.sum, sums.squares);
        count_ += numbers;
        zeros_ += sums.zeros;
        extremes_.add(sums.minimum, sums.maximum, turn);
    }

    typename MomentsOf<Real>::Type moments_;
    Extremes<Real> extremes_{INFINITY, -INFINITY};
    unsigned count_ = 0;
    unsigned zeros_ = 0;
    SpecialCounts specials_;  // not of complex numbers, which need the registers
};

template <typename Kind>
struct RealNumbers {
    FloatPart<Kind, 0, 1> part;

    __device__ void add(const unsigned (&words)[kWords], const Turn& turn) { part.add(words, turn); }
    __device__ void add_end(const Turn& turn) { part.add_end(turn); }
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
        real.add_end(turn);
        imaginary.add_end(turn);
    }
    template <bool>
    __device__ void finish() const {
        real.template finish<false>();
        imaginary.template finish<false>();
    }
};

/// Finds only NaN and Inf.
template <typename Kind>
struct FindingsOnly {
    __device__ void add(const unsigned (&words)[kWords], const Turn& turn) {
        if (__builtin_expect(!has_specials<Kind>(words), 1)) return;
        TurnSpecials specials;
        bool done = false;
        if constexpr (kIsMasked<Kind>) done = add_run<Kind>(words, turn.groups, specials);
        if (!done) specials = mixed_sums<Kind, false>(turn, 0).specials;
        specials_.add(specials, turn);
    }
    __device__ void add_end(const Turn& turn) {
        const TurnSpecials specials = specials_of_end<Kind>(turn);
        if (specials.counts != 0) note_specials(specials, 0, turn);
    }
    /// leave_lines() expects no results of warps.
    template <bool>
    __device__ void finish() const {
        specials_.leave(0);
    }

  private:
    SpecialCounts specials_;
};

}  // namespace aoti_dbg::device
