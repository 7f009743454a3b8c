#include "compare/element_difference.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "serializer/element_value.hpp"

namespace aoti_dbg::compare {
namespace {

bool has_ulps(DType dtype) {
    return dtype == DType::float64 || dtype == DType::float32 || dtype == DType::float16 ||
           dtype == DType::bfloat16;
}

/// Maps the bits of a number to an integer, so that neighbors differ by 1. Both zeros become 0.
std::int64_t place_of(const std::byte* at, std::size_t bytes) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, at, bytes);
    const std::uint64_t sign = std::uint64_t{1} << (bytes * 8 - 1);
    const auto magnitude = static_cast<std::int64_t>(bits & (sign - 1));
    return (bits & sign) != 0 ? -magnitude : magnitude;
}

double distance_of(DType dtype, const std::byte* one, const std::byte* other) {
    if (is_integer(dtype) && element_size(dtype) == 8) {
        std::uint64_t first = 0;
        std::uint64_t second = 0;
        std::memcpy(&first, one, sizeof first);
        std::memcpy(&second, other, sizeof second);
        const bool is_less = is_unsigned(dtype)
                                 ? first < second
                                 : static_cast<std::int64_t>(first) < static_cast<std::int64_t>(second);
        return static_cast<double>(is_less ? second - first : first - second);
    }
    const double first = element_value(dtype, one);
    const double second = element_value(dtype, other);
    return first == second ? 0 : std::abs(first - second);
}

void add_number(DType dtype, const std::byte* one, const std::byte* other, ElementDifference& to) {
    const bool is_nan = std::isnan(element_value(dtype, one));
    const bool is_other_nan = std::isnan(element_value(dtype, other));
    to.nan_in_one += is_nan != is_other_nan ? 1 : 0;
    if (is_nan || is_other_nan) return;
    to.largest_absolute = std::max(to.largest_absolute, distance_of(dtype, one, other));
    if (!has_ulps(dtype)) return;
    const std::int64_t place = place_of(one, element_size(dtype));
    const std::int64_t other_place = place_of(other, element_size(dtype));
    to.by_one_ulp += place + 1 == other_place || other_place + 1 == place ? 1 : 0;
}

}  // namespace

ElementDifference difference_of(DType dtype, std::span<const std::byte> first,
                                std::span<const std::byte> second) {
    ElementDifference result;
    const std::size_t size = element_size(dtype);
    const DType part = part_dtype(dtype);
    const std::size_t part_size = element_size(part);
    result.elements = std::min(first.size(), second.size()) / size;
    for (std::uint64_t i = 0; i < result.elements; ++i) {
        const std::byte* const one = first.data() + i * size;
        const std::byte* const other = second.data() + i * size;
        if (std::memcmp(one, other, size) == 0) continue;
        if (result.different++ == 0) result.first = i;
        for (std::size_t at = 0; at < size && !is_packed(dtype); at += part_size)
            add_number(part, one + at, other + at, result);
    }
    return result;
}

}  // namespace aoti_dbg::compare
