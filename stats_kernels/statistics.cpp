// Converts partial results to statistics. Uses no libm, because the library may depend only on libc.
#include "stats_kernels/statistics.hpp"

#include <limits>

#include "stats_kernels/content_hash.hpp"

namespace aoti_dbg {

namespace {

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Negative numbers and NaN bypass the square root, because std::sqrt would set errno.
double square_root(double value) {
    return value >= 0 ? __builtin_sqrt(value) : kNotANumber;
}

Number floating(double value) {
    Number number;
    number.floating = value;
    return number;
}

Number number_of_key(DType dtype, std::uint64_t key) {
    Number number;
    if (!is_integer(dtype)) {
        number.floating = double_of_key(key);
    } else if (is_unsigned(dtype)) {
        number.kind = Number::Kind::unsigned_integer;
        number.unsigned_integer = key;
    } else {
        number.kind = Number::Kind::signed_integer;
        number.signed_integer = static_cast<std::int64_t>(key ^ (1ULL << 63U));
    }
    return number;
}

Moments finite_moments(const PartialStatistics& partial, DType dtype) {
    const bool none = partial.finite == 0;
    const std::uint64_t zero = is_integer(dtype) && !is_unsigned(dtype) ? key_of(std::int64_t{0}) : 0;
    Moments moments;
    moments.count = partial.finite;
    moments.minimum = none && !is_integer(dtype) ? floating(kNotANumber)
                                                 : number_of_key(dtype, none ? zero : partial.minimum_key);
    moments.maximum = none && !is_integer(dtype) ? floating(kNotANumber)
                                                 : number_of_key(dtype, none ? zero : partial.maximum_key);
    moments.mean = none ? kNotANumber : partial.mean;
    // The rounding of the difference would matter only for a tensor of 2^63 elements.
    moments.standard_deviation =
        partial.finite < 2 ? kNotANumber : square_root(partial.m2 / static_cast<double>(partial.finite - 1));
    return moments;
}

/// Applies the effect of NaN and Inf to `finite`.
Moments propagated(const PartialStatistics& partial, const Moments& finite) {
    Moments all = finite;
    all.count += partial.nan + partial.positive_infinity + partial.negative_infinity;
    if (all.count == finite.count) return all;
    all.standard_deviation = kNotANumber;
    if (partial.nan > 0) {
        all.minimum = all.maximum = floating(kNotANumber);
        all.mean = kNotANumber;
        return all;
    }
    if (partial.negative_infinity > 0)
        all.minimum = floating(-kInfinity);
    else if (finite.count == 0)
        all.minimum = floating(kInfinity);
    if (partial.positive_infinity > 0)
        all.maximum = floating(kInfinity);
    else if (finite.count == 0)
        all.maximum = floating(-kInfinity);
    const bool both = partial.positive_infinity > 0 && partial.negative_infinity > 0;
    all.mean = both ? kNotANumber : (partial.positive_infinity > 0 ? kInfinity : -kInfinity);
    return all;
}

/// Computes the mean of integers from their exact sum. Merging means would round it.
double mean_of_sum(const PartialStatistics& partial) {
    const bool negative = (partial.sum_high >> 63U) != 0;
    const std::uint64_t low = negative ? ~partial.sum_low + 1 : partial.sum_low;
    const std::uint64_t high = negative ? ~partial.sum_high + (low == 0 ? 1 : 0) : partial.sum_high;
    const double magnitude = static_cast<double>(high) * 0x1p64 + static_cast<double>(low);
    return (negative ? -magnitude : magnitude) / static_cast<double>(partial.finite);
}

std::uint64_t first_of(std::uint64_t a, std::uint64_t b) {
    return a < b ? a : b;
}

RealStatistics finish_part(const PartialStatistics& partial, DType dtype, Requested requested,
                           bool in_order) {
    RealStatistics real;
    real.finite = finite_moments(partial, dtype);
    if (is_integer(dtype) && partial.finite > 0) {
        real.finite.mean = mean_of_sum(partial);
        real.sum_low = partial.sum_low;
        real.sum_high = static_cast<std::int64_t>(partial.sum_high);
    }
    real.all = propagated(partial, real.finite);
    real.nan = partial.nan;
    real.positive_infinity = partial.positive_infinity;
    real.negative_infinity = partial.negative_infinity;
    real.zeros = partial.zeros;
    if (in_order) {
        real.first_nan = partial.first_nan;
        real.first_nonfinite = first_of(
            partial.first_nan, first_of(partial.first_positive_infinity, partial.first_negative_infinity));
    }
    if (!wants(requested, Requested::indices)) return real;
    const auto index = [&](std::uint64_t beyond, std::uint64_t within, std::uint64_t opposite) {
        if (partial.nan > 0) return partial.first_nan;
        if (beyond != kNoIndex) return beyond;
        return within != kNoIndex ? within : opposite;
    };
    real.minimum_index =
        index(partial.first_negative_infinity, partial.minimum_index, partial.first_positive_infinity);
    real.maximum_index =
        index(partial.first_positive_infinity, partial.maximum_index, partial.first_negative_infinity);
    return real;
}

/// Mixes dtype and sizes with the contents, in the same way as the groups.
std::uint64_t finish_hash(std::uint64_t content, DType dtype, std::span<const std::int64_t> sizes) {
    std::uint64_t hash = hash_group(static_cast<std::uint64_t>(dtype), sizes.size(), content);
    for (const std::int64_t size : sizes)
        hash = hash_group(hash, static_cast<std::uint64_t>(size), content);
    return hash;
}

}  // namespace

double Number::as_double() const {
    switch (kind) {
        case Kind::signed_integer:
            return static_cast<double>(signed_integer);
        case Kind::unsigned_integer:
            return static_cast<double>(unsigned_integer);
        default:
            return floating;
    }
}

TensorStatistics finish(const TensorPartial& partial, const TensorView& tensor, Requested requested) {
    const DType dtype = tensor.dtype;
    const bool in_order = depends_on_order(requested) || lies_in_logical_order(tensor.sizes, tensor.strides);
    TensorStatistics statistics;
    statistics.dtype = dtype;
    statistics.requested = requested;
    statistics.count = element_count(tensor.sizes);
    statistics.real = finish_part(partial.parts[0], dtype, requested, in_order);
    if (is_complex(dtype)) statistics.imaginary = finish_part(partial.parts[1], dtype, requested, in_order);
    if (wants(requested, Requested::hash)) statistics.hash = finish_hash(partial.hash, dtype, tensor.sizes);
    return statistics;
}

}  // namespace aoti_dbg
