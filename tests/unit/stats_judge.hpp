// A naive reference for statistics: long double and 128-bit integers, element by element, over the samples of
// stats_samples.hpp. It must not share arithmetic with the code under test.
#pragma once

#include "tests/unit/stats_samples.hpp"

namespace stats_fixture {

struct Expected {
    std::uint64_t count = 0, nan = 0, positive_infinity = 0, negative_infinity = 0, zeros = 0;
    std::uint64_t finite = 0;
    long double mean = NAN, deviation = NAN, magnitude = 0;  // of the finite; magnitude is the mean of |x|
    long double minimum = NAN, maximum = NAN;
    Int128 sum = 0, integer_minimum = 0, integer_maximum = 0;
    std::uint64_t first_nan = kNoIndex, first_nonfinite = kNoIndex;
    std::uint64_t minimum_index = kNoIndex, maximum_index = kNoIndex;
};

/// A number of a part as bits, and the index of its element.
struct NumberBits {
    std::uint64_t at = 0;
    std::uint64_t bits = 0;
};

inline std::vector<NumberBits> numbers_of(const Sample& sample, std::uint32_t part) {
    const std::uint32_t bytes = element_size(part_dtype(sample.dtype));
    std::vector<NumberBits> numbers;
    std::uint64_t at = 0;
    for (const std::int64_t offset : sample.offsets()) {
        std::uint64_t bits = 0;
        std::memcpy(&bits, sample.element(offset) + part * bytes, bytes);
        if (sample.dtype == DType::float4_e2m1fn_x2) {
            numbers.push_back({at, bits & 0xfU});
            numbers.push_back({at, bits >> 4U});
        } else {
            numbers.push_back({at, bits});
        }
        ++at;
    }
    return numbers;
}

inline Expected judge(const Sample& sample, std::uint32_t part) {
    const DType dtype = part_dtype(sample.dtype);
    const bool is_negated = sample.bits.negative != (part == 1 && sample.bits.conjugate);
    Expected expected;
    std::vector<long double> finite;
    long double least = 0;
    long double most = 0;
    for (const auto& [at, bits] : numbers_of(sample, part)) {
        const Int128 integer = is_integer(dtype) ? integer_value(dtype, bits) : 0;
        long double value = is_integer(dtype) ? static_cast<long double>(integer)
                                              : static_cast<long double>(float_value(dtype, bits));
        if (is_negated) value = -value;
        ++expected.count;
        if (std::isnan(value)) {
            if (expected.nan++ == 0) expected.first_nan = at;
        } else if (std::isinf(value)) {
            ++(value > 0 ? expected.positive_infinity : expected.negative_infinity);
        } else {
            if (finite.empty() || integer < expected.integer_minimum) expected.integer_minimum = integer;
            if (finite.empty() || integer > expected.integer_maximum) expected.integer_maximum = integer;
            finite.push_back(value);
            expected.sum += integer;
        }
        if (!std::isfinite(value) && expected.first_nonfinite == kNoIndex) expected.first_nonfinite = at;
        if (value == 0) ++expected.zeros;
        if (!std::isnan(value) && (expected.minimum_index == kNoIndex || value < least)) {
            expected.minimum_index = at;
            least = value;
        }
        if (!std::isnan(value) && (expected.maximum_index == kNoIndex || value > most)) {
            expected.maximum_index = at;
            most = value;
        }
    }
    if (expected.nan > 0) expected.minimum_index = expected.maximum_index = expected.first_nan;
    expected.finite = finite.size();
    if (finite.empty()) return expected;
    const auto count = static_cast<long double>(finite.size());
    // Starts from the first value, because a sum of a hundred thousand equal numbers would be rounded in one
    // direction.
    expected.mean = finite[0];
    for (const long double value : finite) {
        expected.mean += (value - finite[0]) / count;
        expected.magnitude += std::fabs(value) / count;
    }
    long double squares = 0;
    for (const long double value : finite)
        squares += (value - expected.mean) * (value - expected.mean);
    if (finite.size() > 1) expected.deviation = std::sqrt(squares / (count - 1));
    expected.minimum = *std::min_element(finite.begin(), finite.end());
    expected.maximum = *std::max_element(finite.begin(), finite.end());
    return expected;
}

inline bool same(double got, long double expected) {
    if (std::isnan(expected)) return std::isnan(got);
    return got == static_cast<double>(expected);
}

inline bool near(double got, long double expected, long double margin) {
    if (std::isnan(expected)) return std::isnan(got);
    return std::fabs(static_cast<long double>(got) - expected) <= margin;
}

/// Our squares overflow to Inf or underflow to 0 beyond the range of double, as README.md says.
inline bool near_deviation(double got, long double expected, const Expected& all, double tolerance) {
    if (expected > 1e150L && std::isinf(got) && got > 0) return true;
    if (expected < 1e-150L && got >= 0 && got <= 1e-150) return true;
    // The rounding error of the mean of such large numbers.
    return near(got, expected, tolerance * expected + 1e-15L * all.magnitude);
}

inline bool same_integer(const Number& got, Int128 expected) {
    if (got.kind == Number::Kind::signed_integer) return got.signed_integer == expected;
    return got.kind == Number::Kind::unsigned_integer &&
           static_cast<Int128>(got.unsigned_integer) == expected;
}

#define STATS_FIXTURE_EXPECT(condition)              \
    do {                                             \
        if (!(condition)) return "not: " #condition; \
    } while (false)

/// Returns an empty text if `got` is correct, and otherwise the difference. `tolerance` applies to mean and
/// standard deviation.
inline std::string difference(const RealStatistics& got, const Expected& want, DType dtype,
                              Requested requested, bool in_order, double tolerance) {
    const bool printed = wants(requested, Requested::printed | Requested::indices);
    const bool findings = printed || wants(requested, Requested::findings);
    if (findings) {
        STATS_FIXTURE_EXPECT(got.nan == want.nan);
        STATS_FIXTURE_EXPECT(got.positive_infinity == want.positive_infinity);
        STATS_FIXTURE_EXPECT(got.negative_infinity == want.negative_infinity);
        STATS_FIXTURE_EXPECT(got.first_nan == (in_order ? want.first_nan : kNoIndex));
        STATS_FIXTURE_EXPECT(got.first_nonfinite == (in_order ? want.first_nonfinite : kNoIndex));
    }
    if (!printed) return "";
    STATS_FIXTURE_EXPECT(got.zeros == want.zeros);
    STATS_FIXTURE_EXPECT(got.all.count == want.count);
    STATS_FIXTURE_EXPECT(got.finite.count == want.finite);
    // Denormal doubles have no more digits.
    STATS_FIXTURE_EXPECT(near(got.finite.mean, want.mean, tolerance * want.magnitude + 0x1p-1060L));
    STATS_FIXTURE_EXPECT(near_deviation(got.finite.standard_deviation, want.deviation, want, tolerance));
    if (is_integer(dtype)) {
        STATS_FIXTURE_EXPECT(same_integer(got.finite.minimum, want.integer_minimum));
        STATS_FIXTURE_EXPECT(same_integer(got.all.maximum, want.integer_maximum));
        STATS_FIXTURE_EXPECT((static_cast<Int128>(got.sum_high) << 64U) + static_cast<Int128>(got.sum_low) ==
                             want.sum);
    } else {
        STATS_FIXTURE_EXPECT(same(got.finite.minimum.floating, want.minimum));
        STATS_FIXTURE_EXPECT(same(got.finite.maximum.floating, want.maximum));
    }
    // As in torch, any NaN makes all NaN, and Inf makes the standard deviation NaN.
    if (want.nan > 0) {
        STATS_FIXTURE_EXPECT(std::isnan(got.all.mean) && std::isnan(got.all.minimum.floating));
        STATS_FIXTURE_EXPECT(std::isnan(got.all.maximum.floating));
    } else if (want.positive_infinity + want.negative_infinity > 0) {
        const bool both = want.positive_infinity > 0 && want.negative_infinity > 0;
        STATS_FIXTURE_EXPECT(both ? std::isnan(got.all.mean) : std::isinf(got.all.mean));
        STATS_FIXTURE_EXPECT(both || (got.all.mean > 0) == (want.positive_infinity > 0));
        if (want.negative_infinity > 0)
            STATS_FIXTURE_EXPECT(got.all.minimum.floating == -INFINITY);
        else
            STATS_FIXTURE_EXPECT(want.finite == 0 || got.all.minimum.floating == got.finite.minimum.floating);
        if (want.positive_infinity > 0)
            STATS_FIXTURE_EXPECT(got.all.maximum.floating == INFINITY);
        else
            STATS_FIXTURE_EXPECT(want.finite == 0 || got.all.maximum.floating == got.finite.maximum.floating);
    }
    if (want.finite != want.count) STATS_FIXTURE_EXPECT(std::isnan(got.all.standard_deviation));
    if (!wants(requested, Requested::indices)) return "";
    STATS_FIXTURE_EXPECT(got.minimum_index == want.minimum_index);
    STATS_FIXTURE_EXPECT(got.maximum_index == want.maximum_index);
    return "";
}

#undef STATS_FIXTURE_EXPECT

inline std::string difference(const TensorStatistics& got, const Sample& sample, Requested requested,
                              double tolerance) {
    const bool in_order = depends_on_order(requested) || lies_in_logical_order(sample.sizes, sample.strides);
    const DType dtype = part_dtype(sample.dtype);
    std::string text = difference(got.real, judge(sample, 0), dtype, requested, in_order, tolerance);
    if (text.empty() && is_complex(sample.dtype)) {
        text = difference(got.imaginary, judge(sample, 1), dtype, requested, in_order, tolerance);
        if (!text.empty()) text = "imaginary part, " + text;
    }
    return text;
}

inline constexpr Requested kEverything =
    Requested::findings | Requested::printed | Requested::indices | Requested::hash;
inline constexpr Requested kRequests[] = {Requested::findings, Requested::printed, Requested::indices,
                                          Requested::hash, kEverything};

}  // namespace stats_fixture
