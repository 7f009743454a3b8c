// Partial statistics of some of a tensor's elements, and how to merge them. The CPU and the CUDA kernels fill
// the same struct and use the same merge. statistics.hpp converts it to readable statistics.
#pragma once

#include <cstdint>

#include "stats_kernels/element_decode.hpp"

namespace aoti_dbg {

inline constexpr std::uint64_t kNoIndex = UINT64_MAX;

/// Map values to unsigned numbers in the same order, so that one comparison serves every dtype. Both zeros
/// map to the same key. NaN has no key.
AOTI_DBG_HOST_DEVICE constexpr std::uint64_t key_of(double value) {
    const std::uint64_t bits = bits_of_double(value + 0.0);
    return (bits >> 63U) != 0 ? ~bits : bits | (1ULL << 63U);
}
AOTI_DBG_HOST_DEVICE constexpr std::uint64_t key_of(std::int64_t value) {
    return static_cast<std::uint64_t>(value) ^ (1ULL << 63U);
}
AOTI_DBG_HOST_DEVICE constexpr std::uint64_t key_of(std::uint64_t value) {
    return value;
}
AOTI_DBG_HOST_DEVICE constexpr double double_of_key(std::uint64_t key) {
    return double_of_bits((key >> 63U) != 0 ? key & ~(1ULL << 63U) : ~key);
}

/// Statistics of real numbers, or of one part of a complex tensor. It has 128 bytes without padding, because
/// it goes through host-mapped memory.
struct PartialStatistics {
    std::uint64_t finite = 0;  // number of elements in mean, m2, minimum and maximum
    double mean = 0;
    double m2 = 0;  // sum of squared distances from the mean
    std::uint64_t nan = 0;
    std::uint64_t positive_infinity = 0;
    std::uint64_t negative_infinity = 0;
    std::uint64_t zeros = 0;
    std::uint64_t minimum_key = UINT64_MAX;
    std::uint64_t maximum_key = 0;
    std::uint64_t minimum_index = kNoIndex;  // first occurrence
    std::uint64_t maximum_index = kNoIndex;
    std::uint64_t first_nan = kNoIndex;
    std::uint64_t first_positive_infinity = kNoIndex;
    std::uint64_t first_negative_infinity = kNoIndex;
    std::uint64_t sum_low = 0;  // of integers, 128 bits in two's complement
    std::uint64_t sum_high = 0;
};
static_assert(sizeof(PartialStatistics) == 128);

struct TensorPartial {
    PartialStatistics parts[2];  // the second one only for complex tensors
    std::uint64_t hash = 0;      // sum of hash_group()
};

/// The method of Chan, Golub and LeVeque: exact except for rounding, whatever the two counts. If the distance
/// exceeds the range of double, the mean is a weighted sum of both means.
AOTI_DBG_HOST_DEVICE inline void merge_moments(double& count, double& mean, double& m2, double other_count,
                                               double other_mean, double other_m2) {
    if (other_count == 0) return;
    const double total = count + other_count;
    const double weight = other_count / total;
    const double distance = other_mean - mean;
    const bool in_range = distance - distance == 0;
    mean = in_range ? mean + distance * weight : mean * (1 - weight) + other_mean * weight;
    m2 += other_m2;
    if (count != 0) m2 += distance * distance * count * weight;
    count = total;
}

AOTI_DBG_HOST_DEVICE inline void take_lower(std::uint64_t& index, std::uint64_t other) {
    if (other < index) index = other;
}

AOTI_DBG_HOST_DEVICE inline void add_to_sum(PartialStatistics& into, std::uint64_t low, std::uint64_t high) {
    into.sum_low += low;
    into.sum_high += high + (into.sum_low < low ? 1 : 0);
}

/// Merges everything except mean and m2. The result is exact in any order and grouping.
AOTI_DBG_HOST_DEVICE inline void merge_exact(PartialStatistics& into, const PartialStatistics& other) {
    into.finite += other.finite;
    into.nan += other.nan;
    into.positive_infinity += other.positive_infinity;
    into.negative_infinity += other.negative_infinity;
    into.zeros += other.zeros;
    if (other.minimum_key < into.minimum_key) {
        into.minimum_key = other.minimum_key;
        into.minimum_index = other.minimum_index;
    } else if (other.minimum_key == into.minimum_key) {
        take_lower(into.minimum_index, other.minimum_index);
    }
    if (other.maximum_key > into.maximum_key) {
        into.maximum_key = other.maximum_key;
        into.maximum_index = other.maximum_index;
    } else if (other.maximum_key == into.maximum_key) {
        take_lower(into.maximum_index, other.maximum_index);
    }
    take_lower(into.first_nan, other.first_nan);
    take_lower(into.first_positive_infinity, other.first_positive_infinity);
    take_lower(into.first_negative_infinity, other.first_negative_infinity);
    add_to_sum(into, other.sum_low, other.sum_high);
}

/// Works in any order and grouping. Only the moments may differ, by rounding.
AOTI_DBG_HOST_DEVICE inline void merge(PartialStatistics& into, const PartialStatistics& other) {
    auto count = static_cast<double>(into.finite);
    merge_moments(count, into.mean, into.m2, static_cast<double>(other.finite), other.mean, other.m2);
    merge_exact(into, other);
}

AOTI_DBG_HOST_DEVICE inline void merge(TensorPartial& into, const TensorPartial& other) {
    merge(into.parts[0], other.parts[0]);
    merge(into.parts[1], other.parts[1]);
    into.hash += other.hash;
}

}  // namespace aoti_dbg
