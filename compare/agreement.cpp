#include "compare/agreement.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

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
    return {is_equal ? Agreement::equal : Agreement::different, grade, !is_equal, {}, nullptr};
}

bool has_closeness(const Rule& rule) {
    return rule.kind == RuleKind::given || rule.kind == RuleKind::dtype;
}

bool has_tolerance(const Rule& rule) {
    return rule.kind != RuleKind::automatic && rule.kind != RuleKind::bits;
}

/// Whether numbers of one can be compared with those of the other.
bool is_comparable(const TensorFacts& first, const TensorFacts& second, const Rule& rule) {
    if (first.dtype == second.dtype) return true;
    const DType one = first.measured_dtype;
    const DType other = second.measured_dtype;
    return has_tolerance(rule) && !is_integer(one) && !is_integer(other) &&
           is_complex(one) == is_complex(other) && is_packed(one) == is_packed(other);
}

bool have_hashes(const RecordedTensor& first, const RecordedTensor& second) {
    return first.is_measured && second.is_measured && first.tensor->dtype == second.tensor->dtype &&
           wants(first.statistics.requested, Requested::hash) &&
           wants(second.statistics.requested, Requested::hash);
}

bool have_values(const RecordedTensor& first, const RecordedTensor& second) {
    return first.is_measured && second.is_measured && first.statistics.count != 0 &&
           first.statistics.count == second.statistics.count && !first.values.empty() &&
           !second.values.empty();
}

Compared of_elements(std::shared_ptr<const ElementDifference> found, Grade grade, const Rule& rule) {
    if (found->different == 0) return proven(true, grade);
    Compared result = proven(false, grade);
    result.spread = spread_of(*found);
    if (has_closeness(rule) && found->beyond == 0) result.agreement = Agreement::close;
    result.elements = std::move(found);
    return result;
}

/// Whether elements that are close can have these statistics.
bool may_be_close(const RealStatistics& first, const RealStatistics& second, const Closeness& closeness) {
    const Moments& one = first.finite;
    const Moments& other = second.finite;
    if (other.count == 0) return true;
    const double largest = std::max(std::abs(other.minimum.as_double()), std::abs(other.maximum.as_double()));
    const double most = closeness.absolute + closeness.relative * largest;
    const double rounding =
        1e-6 * (std::abs(other.mean) + other.standard_deviation);  // of sums in another order
    const auto is_near = [](double a, double b, double allowed) {
        return same(a, b) || std::abs(a - b) <= allowed;
    };
    return is_near(one.mean, other.mean, most + rounding) &&
           is_near(one.standard_deviation, other.standard_deviation, 2 * most + rounding) &&
           is_near(one.minimum.as_double(), other.minimum.as_double(), most) &&
           is_near(one.maximum.as_double(), other.maximum.as_double(), most);
}

Compared of_statistics(const RecordedTensor& first, const RecordedTensor& second, const Rule& rule) {
    const TensorStatistics& one = first.statistics;
    const TensorStatistics& other = second.statistics;
    Compared result{Agreement::not_seen, Grade::statistics, have_hashes(first, second), {}, nullptr};
    result.spread.has_elements = false;
    if (first.tensor->dtype == second.tensor->dtype && same(first, second)) return result;
    result.bits_differ = true;
    result.agreement = Agreement::different;
    result.spread = spread_of(one, other);
    if (!has_closeness(rule) || std::isinf(result.spread.shift)) return result;
    const bool have_moments = wants(one.requested, kPrinted) && wants(other.requested, kPrinted);
    const Closeness closeness =
        closeness_of(rule, first.tensor->measured_dtype, second.tensor->measured_dtype);
    const bool may_be = !have_moments ||
                        (may_be_close(one.real, other.real, closeness) &&
                         (!is_complex(one.dtype) || may_be_close(one.imaginary, other.imaginary, closeness)));
    if (may_be) result.agreement = Agreement::not_seen;
    return result;
}

}  // namespace

std::shared_ptr<const ElementDifference> compare_elements(const RecordedTensor& first,
                                                          const RecordedTensor& second,
                                                          const Evidence& evidence) {
    if (first.tensor == nullptr || second.tensor == nullptr || first.tensor->sizes != second.tensor->sizes)
        return nullptr;
    const DType one = first.tensor->measured_dtype;
    const DType other = second.tensor->measured_dtype;
    const Closeness closeness = closeness_of(evidence.rule, one, other);
    const auto result = [&](std::span<const std::byte> ours, std::span<const std::byte> theirs) {
        return std::make_shared<const ElementDifference>(
            difference_of({one, ours}, {other, theirs}, closeness));
    };
    if (have_values(first, second)) return result(first.values, second.values);
    if (evidence.first == nullptr || evidence.second == nullptr || !evidence.first->has(first) ||
        !evidence.second->has(second))
        return nullptr;
    if (evidence.known != nullptr)
        if (std::shared_ptr<const ElementDifference> known = evidence.known->of(first, second)) return known;
    const std::optional<SavedElements> ours = evidence.first->elements_of(first);
    const std::optional<SavedElements> theirs = ours ? evidence.second->elements_of(second) : std::nullopt;
    if (!theirs) return nullptr;
    std::shared_ptr<const ElementDifference> found = result(ours->bytes, theirs->bytes);
    if (evidence.known != nullptr) evidence.known->add(first, second, found);
    return found;
}

Compared compare(const RecordedTensor& first, const RecordedTensor& second, const Evidence& evidence) {
    if (first.has_garbage || second.has_garbage) return {};
    if (first.tensor == nullptr || second.tensor == nullptr) {
        return proven(first.tensor == second.tensor && first.scalar == second.scalar, Grade::values);
    }
    const TensorFacts& one = *first.tensor;
    const TensorFacts& other = *second.tensor;
    if (one.sizes_known && other.sizes_known &&
        (one.sizes != other.sizes || !is_comparable(one, other, evidence.rule)))
        return {Agreement::different, Grade::shape, true, kApart, nullptr};
    if (have_hashes(first, second)) {
        const bool is_equal = first.statistics.hash == second.statistics.hash;
        if (is_equal || !has_tolerance(evidence.rule)) return proven(is_equal, Grade::hash);
    }
    const bool are_recorded = have_values(first, second);
    std::shared_ptr<const ElementDifference> elements = compare_elements(first, second, evidence);
    if (elements != nullptr)
        return of_elements(std::move(elements), are_recorded ? Grade::values : Grade::files, evidence.rule);
    if (!first.is_measured || !second.is_measured) return {};
    return of_statistics(first, second, evidence.rule);
}

void settle(Compared& compared, const Spread& allowed) {
    if (compared.agreement != Agreement::different || !compared.spread.is_within(allowed)) return;
    const bool proves = compared.elements != nullptr && allowed.typical < kInfinitelyFar;
    compared.agreement = proves ? Agreement::close : Agreement::not_seen;
}

}  // namespace aoti_dbg::compare
