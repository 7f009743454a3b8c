#include "compare/agreement.hpp"

#include <cmath>
#include <cstdint>

namespace aoti_dbg::compare {
namespace {

constexpr Requested kPrinted = Requested::printed | Requested::indices;

/// NaN equals NaN, because printed statistics do not have its bits.
bool same(double one, double other) {
    return one == other || (std::isnan(one) && std::isnan(other));
}

bool same(const Number& one, const Number& other) {
    if (one.kind != other.kind) return same(one.as_double(), other.as_double());
    switch (one.kind) {
        case Number::Kind::floating:
            return same(one.floating, other.floating);
        case Number::Kind::signed_integer:
            return one.signed_integer == other.signed_integer;
        case Number::Kind::unsigned_integer:
            return one.unsigned_integer == other.unsigned_integer;
    }
    return false;
}

/// Sums in another order differ in their last digits, and a GPU adds small blocks in float32.
bool nearly_same(double one, double other, double scale) {
    return same(one, other) || std::abs(one - other) <= 1e-6 * scale;
}

bool same(const Moments& one, const Moments& other, bool same_order) {
    if (one.count != other.count || !same(one.minimum, other.minimum) || !same(one.maximum, other.maximum))
        return false;
    const double scale = same_order ? 0 : std::abs(one.mean) + one.standard_deviation;
    return nearly_same(one.mean, other.mean, scale) &&
           nearly_same(one.standard_deviation, other.standard_deviation, scale);
}

/// What both recordings have.
struct Common {
    bool is_printed = false;
    bool has_indices = false;
    bool same_order = false;  // of the elements in memory, when they were summed up
};

bool same(const RealStatistics& one, const RealStatistics& other, const Common& common) {
    if (one.nan != other.nan || one.positive_infinity != other.positive_infinity ||
        one.negative_infinity != other.negative_infinity)
        return false;
    if (common.is_printed && (one.zeros != other.zeros || !same(one.all, other.all, common.same_order) ||
                              !same(one.finite, other.finite, common.same_order) ||
                              one.sum_high != other.sum_high || one.sum_low != other.sum_low))
        return false;
    return !common.has_indices ||
           (one.minimum_index == other.minimum_index && one.maximum_index == other.maximum_index &&
            one.first_nan == other.first_nan && one.first_nonfinite == other.first_nonfinite);
}

bool same(const RecordedTensor& first, const RecordedTensor& second) {
    const TensorStatistics& one = first.statistics;
    const TensorStatistics& other = second.statistics;
    const Common common{
        wants(one.requested, kPrinted) && wants(other.requested, kPrinted),
        wants(one.requested, Requested::indices) && wants(other.requested, Requested::indices),
        one.requested == other.requested && first.tensor->device == second.tensor->device &&
            first.tensor->strides == second.tensor->strides};
    return one.count == other.count && same(one.real, other.real, common) &&
           (!is_complex(one.dtype) || same(one.imaginary, other.imaginary, common));
}

Compared proven(bool is_equal, Grade grade) {
    return {is_equal ? Agreement::equal : Agreement::different, grade};
}

bool have_values(const RecordedTensor& first, const RecordedTensor& second) {
    return first.statistics.count != 0 && !first.values.empty() &&
           first.values.size() == second.values.size();
}

}  // namespace

Compared compare(const RecordedTensor& first, const RecordedTensor& second) {
    if (first.tensor == nullptr || second.tensor == nullptr)
        return proven(first.tensor == second.tensor && first.scalar == second.scalar, Grade::values);
    const TensorFacts& one = *first.tensor;
    const TensorFacts& other = *second.tensor;
    if (one.sizes_known && other.sizes_known && (one.sizes != other.sizes || one.dtype != other.dtype))
        return {Agreement::different, Grade::shape};
    if (!first.is_measured || !second.is_measured) return {};
    const bool have_hashes = wants(first.statistics.requested, Requested::hash) &&
                             wants(second.statistics.requested, Requested::hash);
    if (have_hashes) return proven(first.statistics.hash == second.statistics.hash, Grade::hash);
    if (have_values(first, second)) return proven(first.values == second.values, Grade::values);
    const bool is_same = same(first, second);
    return {is_same ? Agreement::not_seen : Agreement::different, Grade::statistics};
}

}  // namespace aoti_dbg::compare
