#include "compare/rule.hpp"

#include <emmintrin.h>

#include <algorithm>
#include <cmath>

namespace aoti_dbg::compare {
namespace {

/// A call enlarges the spread of its inputs at most this much: a sum of a few of them, a difference of
/// numbers that nearly cancel, or the exponential of a large one. Elements show more of it than a mean.
constexpr double kMostAmplified = 8;
constexpr double kElementsByMean = 2;
/// The largest difference, by the typical one. Elements of a tensor have different sizes and errors.
constexpr double kLargestByTypical = 8;
/// Statistics of equal tensors may differ by this much: a GPU adds small blocks in float32.
constexpr double kStatisticsRounding = 2e-6;

/// The largest relative error of rounding to a dtype. Integers are exact.
double unit_of(DType dtype) {
    switch (part_dtype(dtype)) {
        case DType::float64:
            return 0x1p-53;
        case DType::float32:
            return 0x1p-24;
        case DType::float16:
            return 0x1p-11;
        case DType::bfloat16:
            return 0x1p-8;
        case DType::float8_e4m3fn:
        case DType::float8_e4m3fnuz:
            return 0x1p-4;
        case DType::float8_e5m2:
        case DType::float8_e5m2fnuz:
            return 0x1p-3;
        case DType::float8_e8m0fnu:
        case DType::float4_e2m1fn_x2:
            return 0x1p-1;
        default:
            return 0;
    }
}

DType dtype_of(const RecordedTensor& tensor) {
    return tensor.tensor == nullptr ? DType::int64 : tensor.tensor->measured_dtype;
}

double unit_of(const RecordedTensor& first, const RecordedTensor& second) {
    return std::max(unit_of(dtype_of(first)), unit_of(dtype_of(second)));
}

/// The tolerances that torch.testing.assert_close has for a dtype.
Closeness closeness_of(DType dtype) {
    switch (dtype) {
        case DType::float16:
        case DType::complex32:
            return {1e-3, 1e-5};
        case DType::bfloat16:
            return {1.6e-2, 1e-5};
        case DType::float32:
        case DType::complex64:
            return {1.3e-6, 1e-5};
        case DType::float64:
        case DType::complex128:
            return {1e-7, 1e-7};
        default:
            return {};
    }
}

/// Of a number that is not negative. std::sqrt would need libm for errno, and the command links only libc.
double root(double value) {
    return _mm_cvtsd_f64(_mm_sqrt_pd(_mm_set1_pd(value)));
}

double by(double difference, double value) {
    if (difference == 0) return 0;
    return value == 0 || std::isnan(difference) ? kInfinitelyFar : difference / value;
}

struct Summary {
    double mean = 0;
    double deviation = 0;
    double minimum = 0;
    double maximum = 0;
};

/// The root mean square of the values.
double magnitude_of(const Summary& of) {
    return root(of.mean * of.mean + of.deviation * of.deviation);
}

Summary summary_of(const Moments& of) {
    return {of.mean, of.count > 1 ? of.standard_deviation : 0, of.minimum.as_double(),
            of.maximum.as_double()};
}

Summary summary_of(const Sums& of) {
    const auto count = static_cast<double>(of.count);
    const double mean = of.sum / count;
    return {mean, root(std::max(of.squares / count - mean * mean, 0.0)), of.minimum, of.maximum};
}

/// Widens `to` by how far both are apart.
void widen(const Summary& one, const Summary& other, Spread& to) {
    const double value = std::max(magnitude_of(one), magnitude_of(other));
    const double shift = std::max(std::abs(one.mean - other.mean), std::abs(one.deviation - other.deviation));
    const double range =
        std::max(std::abs(one.minimum - other.minimum), std::abs(one.maximum - other.maximum));
    const double largest = std::max(
        {std::abs(one.minimum), std::abs(one.maximum), std::abs(other.minimum), std::abs(other.maximum)});
    to.shift = std::max(to.shift, by(shift, value));
    to.range = std::max(to.range, by(range, largest));
}

/// Returns false if NaN or Inf are in one tensor only.
bool widen(const RealStatistics& first, const RealStatistics& second, Spread& to) {
    if (first.nan != second.nan || first.positive_infinity != second.positive_infinity ||
        first.negative_infinity != second.negative_infinity)
        return false;
    if (first.finite.count != 0) widen(summary_of(first.finite), summary_of(second.finite), to);
    return true;
}

double count_of_elements(const RecordedTensor& tensor) {
    if (tensor.tensor == nullptr || !tensor.tensor->sizes_known) return 0;
    return static_cast<double>(element_count(tensor.tensor->sizes));
}

Spread allowed(double rounding, const RecordedTensor& tensor, const Spread& earlier, double amplified) {
    // Rounding errors of many elements cancel in their mean and standard deviation. They may have a common
    // part, such as that of a bias, so less is assumed than of independent errors.
    const double hidden = root(root(std::max(count_of_elements(tensor), 1.0)));
    const double of_elements = kElementsByMean * amplified;
    const auto largest = [&](double of) { return kLargestByTypical * rounding + of_elements * of; };
    return {std::max(rounding / hidden, kStatisticsRounding) + amplified * earlier.shift,
            std::max(largest(earlier.range), kStatisticsRounding) + amplified * earlier.shift,
            rounding + of_elements * earlier.typical, largest(std::max(earlier.largest, earlier.typical)),
            earlier.has_elements};
}

}  // namespace

Closeness closeness_of(const Rule& rule, DType first, DType second) {
    if (rule.kind == RuleKind::given) return rule.given;
    if (rule.kind != RuleKind::dtype) return {};
    const Closeness one = closeness_of(first);
    const Closeness other = closeness_of(second);
    return {std::max(one.relative, other.relative), std::max(one.absolute, other.absolute)};
}

Spread wider(const Spread& one, const Spread& other) {
    return {std::max(one.shift, other.shift), std::max(one.range, other.range),
            std::max(one.typical, other.typical), std::max(one.largest, other.largest),
            one.has_elements && other.has_elements};
}

Spread spread_of(const ElementDifference& difference) {
    if (difference.nan_in_one != 0 || std::isinf(difference.largest_absolute)) return kApart;
    if (difference.ours.count == 0) return {};
    Spread spread;
    widen(summary_of(difference.ours), summary_of(difference.theirs), spread);
    const Sums& ours = difference.ours;
    const Sums& theirs = difference.theirs;
    spread.typical = by(root(difference.squared_differences), root(std::max(ours.squares, theirs.squares)));
    spread.largest =
        by(difference.largest_absolute, std::max({std::abs(ours.minimum), std::abs(ours.maximum),
                                                  std::abs(theirs.minimum), std::abs(theirs.maximum)}));
    return spread;
}

Spread spread_of(const TensorStatistics& first, const TensorStatistics& second) {
    Spread spread;
    spread.has_elements = false;
    const bool same_nonfinite =
        widen(first.real, second.real, spread) &&
        (!is_complex(first.dtype) || widen(first.imaginary, second.imaginary, spread));
    return same_nonfinite ? spread : kApart;
}

Rounding rounding_of(const RecordedCall& first, const RecordedCall& second) {
    Rounding rounding;
    for (const std::vector<RecordedTensor>* tensors :
         {&first.before, &first.after, &second.before, &second.after})
        for (const RecordedTensor& tensor : *tensors)
            rounding.unit = std::max(rounding.unit, unit_of(dtype_of(tensor)));
    rounding.operations =
        std::max<std::size_t>({1, first.site->original_aten.size(), first.site->source_nodes.size()});
    double result = 0;
    for (const RecordedTensor& tensor : first.after)
        if (tensor.facts->role != Role::reads) result = std::max(result, count_of_elements(tensor));
    if (result == 0) return rounding;
    // The elements of two factors of a matrix product: sqrt(MK * KN / MN) = K.
    double largest = 0;
    double second_largest = 0;
    for (const RecordedTensor& tensor : first.before) {
        const double elements = count_of_elements(tensor);
        second_largest = std::max(second_largest, std::min(largest, elements));
        largest = std::max(largest, elements);
    }
    rounding.reduction = static_cast<std::uint64_t>(
        std::max({1.0, largest / result, root(largest * second_largest / result)}));
    return rounding;
}

Rounding rougher(const Rounding& one, const Rounding& other) {
    return {std::max(one.unit, other.unit), std::max(one.operations, other.operations),
            std::max(one.reduction, other.reduction)};
}

Spread allowed_after(const Rounding& rounding, const RecordedTensor& result, const Spread& inputs) {
    if (rounding.unit == 0 || is_integer(dtype_of(result))) return {0, 0, 0, 0, inputs.has_elements};
    // Errors of independent operations add up like random steps. Sums are kept in float32, or better.
    const double sums = root(static_cast<double>(rounding.reduction));
    const double own = rounding.unit * (1 + root(static_cast<double>(rounding.operations))) +
                       std::min(rounding.unit, unit_of(DType::float32)) * 2 * sums;
    return allowed(own, result, inputs, kMostAmplified);
}

Spread allowed_for_input(const RecordedTensor& first, const RecordedTensor& second, const Spread& earlier) {
    return allowed(unit_of(first, second), first, earlier, 2);
}

}  // namespace aoti_dbg::compare
