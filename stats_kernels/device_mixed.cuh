// Turns in which some numbers are NaN or Inf: masks, overflows. They are frequent enough in real tensors that
// they must not be slow. Such a turn is read once more, group by group, and its numbers that are not finite
// are replaced by one that is. Must not call a function, which would cost a sweep's loop registers.
#pragma once

#include "stats_kernels/device_kinds.cuh"

namespace aoti_dbg::device {

__device__ inline bool is_finite(float number) {
    return fabsf(number) <= 0x1.fffffep127F;
}
__device__ inline bool is_finite(double number) {
    return fabs(number) <= 0x1.fffffffffffffp1023;
}

/// The NaN, +Inf and -Inf of a turn, 8 bits for each: how many there are, and the first group that has one.
struct TurnSpecials {
    unsigned counts = 0;
    unsigned firsts = 0;

    /// Groups come from the last to the first.
    __device__ void add(unsigned kind, unsigned count, unsigned group) {
        counts += count << (kind * 8);
        if (count != 0) firsts = (firsts & ~(0xffU << (kind * 8))) | group << (kind * 8);
    }
    template <typename Real>
    __device__ void add(Real number, unsigned group) {
        if (!is_finite(number)) add(number != number ? 0 : (number > 0 ? 1 : 2), 1, group);
    }
    [[nodiscard]] __device__ unsigned count() const {
        return (counts & 0xffU) + (counts >> 8U & 0xffU) + (counts >> 16U);
    }
};

/// Notes the numbers of groups, which locate_special() replaces by those of elements. The lanes that are here
/// add together, because atomic additions to one address take turns.
__device__ __forceinline__ void note_specials(const TurnSpecials& found, unsigned part, const Turn& turn) {
    unsigned long long* count = &shared().specials[part].nan;
    const TurnGroups groups = groups_of(turn.number);
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    // The same lanes for all kinds, so that all of them add the same kind.
    const unsigned lanes = __activemask();
    const bool is_first = threadIdx.x % 32 == static_cast<unsigned>(__ffs(static_cast<int>(lanes))) - 1;
#endif
#pragma unroll 1
    for (unsigned shift = 0; shift < 24; shift += 8, ++count) {
        const unsigned own = found.counts >> shift & 0xffU;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
        const unsigned all = __reduce_add_sync(lanes, own);
        if (is_first && all != 0) atomicAdd(count, static_cast<unsigned long long>(all));
#else
        if (own != 0) atomicAdd(count, static_cast<unsigned long long>(own));
#endif
        if (own == 0) continue;
        unsigned long long* const first = count + 3;
        const unsigned long long group =
            groups.first + (turn.before + (found.firsts >> shift & 0xffU)) * groups.step;
        if (group < *static_cast<volatile unsigned long long*>(first)) atomicMin(first, group);
    }
}

/// The NaN, +Inf and -Inf of a thread, kept in registers: masks have some in every turn, and all warps of a
/// block would wait for one address.
class SpecialCounts {
  public:
    /// Turns come in logical order, so only the first one of a kind can have the first group.
    __device__ __forceinline__ void add(const TurnSpecials& found, const Turn& turn) {
        if (found.counts == 0) return;
        bool is_first = false;
#pragma unroll
        for (unsigned kind = 0; kind < 3; ++kind) {
            const unsigned own = found.counts >> (kind * 8) & 0xffU;
            is_first = is_first || (own != 0 && counts_[kind] == 0);
            counts_[kind] += own;
        }
        if (is_first) note_firsts(found, turn);
    }

    /// Adds them to the block's.
    __device__ __forceinline__ void leave(unsigned part) const {
        if ((counts_[0] | counts_[1] | counts_[2]) == 0) return;
        unsigned long long* count = &shared().specials[part].nan;
#pragma unroll 1
        for (unsigned kind = 0; kind < 3; ++kind, ++count) {
            const unsigned own = kind == 0 ? counts_[0] : (kind == 1 ? counts_[1] : counts_[2]);
            if (own != 0) atomicAdd(count, static_cast<unsigned long long>(own));
        }
    }

  private:
    static __device__ __forceinline__ void note_firsts(const TurnSpecials& found, const Turn& turn) {
        const TurnGroups groups = groups_of(turn.number);
        unsigned long long* first = &shared().specials[0].first_nan;
#pragma unroll 1
        for (unsigned shift = 0; shift < 24; shift += 8, ++first) {
            if ((found.counts >> shift & 0xffU) == 0) continue;
            const std::uint64_t group =
                groups.first + (turn.before + (found.firsts >> shift & 0xffU)) * groups.step;
            atomicMin(first, static_cast<unsigned long long>(group));
        }
    }

    unsigned counts_[3] = {0, 0, 0};
};

/// Masks have long runs of one number. If the turn's words are all the same, and hold only one number that is
/// not finite, counts it. Requires whole groups.
template <typename Kind>
__device__ bool add_run(const unsigned (&words)[kWords], unsigned groups, TurnSpecials& specials) {
    constexpr unsigned kInWord = Kind::kNumbers / kWords;
    const auto number = Kind::number(words, 0);
    if (is_finite(number)) return false;
    unsigned difference = 0;
#pragma unroll
    for (unsigned i = 1; i < kWords; ++i)
        difference |= words[i] ^ words[0];
    if (difference != 0 || (kInWord == 2 && words[0] >> 16U != (words[0] & 0xffffU))) return false;
    specials.add(number != number ? 0 : (number > 0 ? 1 : 2), groups * (Kind::kNumbers / kGroups), 0);
    return true;
}

/// The sums over the finite numbers of a turn, around one of them.
template <typename Real>
struct MixedSums {
    TurnSums<Real> finite;
    TurnSpecials specials;
};

__device__ inline void words_of(const uint4& group, unsigned (&words)[4]) {
    words[0] = group.x;
    words[1] = group.y;
    words[2] = group.z;
    words[3] = group.w;
}

/// kSums: also sums, not only counts.
template <typename Kind, bool kSums>
__device__ MixedSums<typename Kind::Real> plain_mixed_sums(const Turn& turn, typename Kind::Real shift) {
    using Real = typename Kind::Real;
    constexpr unsigned kInGroup = Kind::kNumbers / kGroups;
    constexpr unsigned kUnrolled = kInGroup <= 8 ? kInGroup : 1;  // not what is rare
    MixedSums<Real> sums{{0, 0, shift, shift, 0}, {}};
    float zeros = 0;
#pragma unroll 1
    for (unsigned k = turn.groups; k-- > 0;) {
        GroupBits bits(turn.from[k * kBlockThreads]);
        unsigned counts[3] = {0, 0, 0};
#pragma unroll kUnrolled
        for (unsigned i = 0; i < kInGroup; ++i) {
            const Real number = Kind::decode(bits.next(128 / kInGroup));
            counts[0] += number != number ? 1 : 0;
            counts[1] += number == Real{INFINITY} ? 1 : 0;
            counts[2] += number == -Real{INFINITY} ? 1 : 0;
            if (!kSums) continue;
            const Real finite = is_finite(number) ? number : shift;
            const Real distance = finite - shift;
            sums.finite.sum += distance;
            sums.finite.squares = fma(distance, distance, sums.finite.squares);
            sums.finite.minimum = lesser(sums.finite.minimum, finite);
            sums.finite.maximum = greater(sums.finite.maximum, finite);
            zeros += one_if_zero(number);
        }
#pragma unroll
        for (unsigned kind = 0; kind < 3; ++kind)
            sums.specials.add(kind, counts[kind], k);
    }
    sums.finite.zeros = static_cast<unsigned>(zeros);
    return sums;
}

/// Counts in both halves of a word, by adding words whose halves are all ones or zero.
class PairCount {
  public:
    __device__ void add(unsigned mask) { sum_ += mask; }
    [[nodiscard]] __device__ unsigned count() const {
        const unsigned low = -sum_ & 0xffffU;
        const int low_minus_high = static_cast<int>(sum_ + low) >> 16;
        return 2 * low - static_cast<unsigned>(low_minus_high);
    }

  private:
    unsigned sum_ = 0;
};

/// Counts what is not finite, and passes each pair to `visit`.
template <typename Kind, bool kHasInfinity, typename Visit>
__device__ __forceinline__ TurnSpecials specials_of_pairs(const Turn& turn, const Visit& visit) {
    const auto infinity = Kind::both(INFINITY);
    TurnSpecials specials;
#pragma unroll 1
    for (unsigned k = turn.groups; k-- > 0;) {
        PairCount numbers;
        PairCount positive;
        PairCount negative;
        unsigned group[4];
        words_of(turn.from[k * kBlockThreads], group);
        typename Kind::Pair pairs[Kind::kPairs];
        Kind::decode(group, pairs);
#pragma unroll
        for (const auto& pair : pairs) {
            numbers.add(__heq2_mask(pair, pair));
            if constexpr (kHasInfinity) {
                positive.add(__heq2_mask(pair, infinity));
                negative.add(__heq2_mask(pair, __hneg2(infinity)));
            }
            visit(pair);
        }
        specials.add(0, 2 * Kind::kPairs - numbers.count(), k);
        specials.add(1, positive.count(), k);
        specials.add(2, negative.count(), k);
    }
    return specials;
}

template <typename Kind, bool kSums>
__device__ MixedSums<float> paired_mixed_sums(const Turn& turn, float shift) {
    using Pair = typename Kind::Pair;
    const Pair zero = Kind::both(0.0F);
    const Pair infinity = Kind::both(INFINITY);
    const Pair shifts = Kind::both(shift);
    Pair minimum = shifts;
    Pair maximum = shifts;
    Pair zeros = zero;
    MixedSums<float> sums;
    sums.specials = specials_of_pairs<Kind, true>(turn, [&](Pair pair) {
        if (!kSums) return;
        const unsigned is_finite = __hlt2_mask(__habs2(pair), infinity);
        const Pair finite =
            as_pair<Pair>((as_pair<unsigned>(pair) & is_finite) | (as_pair<unsigned>(shifts) & ~is_finite));
        const float low = Kind::low(finite) - shift;
        const float high = Kind::high(finite) - shift;
        sums.finite.sum += low;
        sums.finite.sum += high;
        sums.finite.squares = fma(low, low, sums.finite.squares);
        sums.finite.squares = fma(high, high, sums.finite.squares);
        minimum = __hmin2(minimum, finite);
        maximum = __hmax2(maximum, finite);
        zeros = __hadd2(zeros, __heq2(pair, zero));
    });
    sums.finite.minimum = fminf(Kind::low(minimum), Kind::high(minimum));
    sums.finite.maximum = fmaxf(Kind::low(maximum), Kind::high(maximum));
    sums.finite.zeros = static_cast<unsigned>(Kind::low(zeros) + Kind::high(zeros));
    return sums;
}

/// Counts at the end of a tensor.
template <typename Kind>
__device__ TurnSpecials specials_of_end(const Turn& turn) {
    TurnSpecials specials;
    GroupBits bits(*turn.from);
#pragma unroll 1
    for (unsigned i = 0; i < turn.in_last; ++i)
        specials.add(Kind::decode(bits.next(128 * kGroups / Kind::kNumbers)), 0);
    return specials;
}

/// Requires whole groups. `shift` must be one of the finite numbers, if there are any.
template <typename Kind, bool kSums>
__device__ __forceinline__ MixedSums<typename Kind::Real> mixed_sums(const Turn& turn,
                                                                     typename Kind::Real shift) {
    if constexpr (Kind::kPaired)
        return paired_mixed_sums<Kind, kSums>(turn, shift);
    else
        return plain_mixed_sums<Kind, kSums>(turn, shift);
}

/// Bytes of float8 that are special are zero after an AND and an XOR. Returns false only if none is.
__device__ inline bool has_special_bytes(const unsigned (&words)[kWords]) {
    constexpr unsigned kEach = 0x01010101U;
    unsigned kept = 0xff;
    unsigned flipped = 0x80;  // both fnuz kinds
    switch (shared_job().dtype) {
        case DType::float8_e4m3fn:
            kept = flipped = 0x7f;
            break;
        case DType::float8_e5m2:
            kept = flipped = 0x7c;
            break;
        case DType::float8_e8m0fnu:
            flipped = 0xff;
            break;
        default:
            break;
    }
    kept *= kEach;
    flipped *= kEach;
    unsigned nonzero = ~0U;
#pragma unroll
    for (unsigned i = 0; i < kWords; ++i) {
        const unsigned bytes = (words[i] & kept) ^ flipped;
        nonzero &= ((bytes & kEach * 0x7fU) + kEach * 0x7fU) | bytes;
    }
    return (nonzero & kEach * 0x80U) != kEach * 0x80U;
}

/// Returns whether any number of a turn is NaN or Inf: times zero, only they are not zero.
template <typename Kind>
__device__ bool has_specials(const unsigned (&words)[kWords]) {
    if constexpr (Kind::kNumbers == kWords * 4) {
        return has_special_bytes(words);
    } else if constexpr (Kind::kNumbers < kWords) {
        int largest = 0;  // of the high words without their signs
#pragma unroll
        for (unsigned i = 1; i < kWords; i += 2)
            largest = max(largest, static_cast<int>(words[i] & 0x7fffffffU));
        return largest >= 0x7ff00000;
    } else if constexpr (Kind::kPaired) {
        typename Kind::Pair trace[2] = {Kind::both(0), Kind::both(0)};
#pragma unroll
        for (unsigned i = 0; i < kWords; ++i)
            trace[i % 2] = __hfma2(as_pair<typename Kind::Pair>(words[i]), Kind::both(0), trace[i % 2]);
        return __heq2_mask(__hadd2(trace[0], trace[1]), Kind::both(0)) != ~0U;
    } else {
        float trace[kGroups] = {};
#pragma unroll
        for (unsigned i = 0; i < Kind::kNumbers; ++i)
            trace[i % kGroups] = fmaf(Kind::number(words, i), 0.0F, trace[i % kGroups]);
        return trace[0] + trace[1] + (trace[2] + trace[3]) != 0;
    }
}

}  // namespace aoti_dbg::device
