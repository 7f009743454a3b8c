#include "compare/element_difference.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "serializer/element_value.hpp"

namespace aoti_dbg::compare {
namespace {

constexpr std::size_t kBlock = 1024;
using Block = std::array<double, 2 * kBlock>;

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

/// Compares one element. Each size is inline, because a call would take longer.
bool is_equal(const std::byte* one, const std::byte* other, std::size_t bytes) {
    switch (bytes) {
        case 2:
            return std::memcmp(one, other, 2) == 0;
        case 4:
            return std::memcmp(one, other, 4) == 0;
        case 8:
            return std::memcmp(one, other, 8) == 0;
        default:
            return std::memcmp(one, other, bytes) == 0;
    }
}

/// The distance of two 64-bit integers, which a double could not hold.
double distance_of(DType dtype, const std::byte* one, const std::byte* other) {
    std::uint64_t first = 0;
    std::uint64_t second = 0;
    std::memcpy(&first, one, sizeof first);
    std::memcpy(&second, other, sizeof second);
    const bool is_less = is_unsigned(dtype)
                             ? first < second
                             : static_cast<std::int64_t>(first) < static_cast<std::int64_t>(second);
    return static_cast<double>(is_less ? second - first : first - second);
}

template <typename Float>
void load(const std::byte* from, std::size_t count, Block& to) {
    for (std::size_t i = 0; i < count; ++i) {
        Float value = 0;
        std::memcpy(&value, from + i * sizeof value, sizeof value);
        to[i] = static_cast<double>(value);
    }
}

/// Loads the numbers of so many elements, and returns how many.
std::size_t load(DType dtype, const std::byte* from, std::size_t elements, Block& to) {
    if (is_packed(dtype)) {
        for (std::size_t i = 0; i < 2 * elements; ++i) {
            const std::byte number = packed_number(from[i / 2], i % 2);
            to[i] = element_value(dtype, &number);
        }
        return 2 * elements;
    }
    const DType part = part_dtype(dtype);
    const std::size_t numbers = elements * (is_complex(dtype) ? 2 : 1);
    if (part == DType::float32) {
        load<float>(from, numbers, to);
    } else if (part == DType::float64) {
        load<double>(from, numbers, to);
    } else {
        for (std::size_t i = 0; i < numbers; ++i)
            to[i] = element_value(part, from + i * element_size(part));
    }
    return numbers;
}

/// Adds to the histogram.
void add_relative(double relative, ElementDifference& to) {
    static constexpr std::array<double, ElementDifference::kDecades - 1> kBounds = {
        1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1};
    const auto* const bound = std::ranges::upper_bound(kBounds, relative);
    ++to.by_relative[static_cast<std::size_t>(bound - kBounds.begin())];
    to.largest_relative = std::max(to.largest_relative, relative);
}

void add_to(Sums& sums, double value) {
    sums.minimum = sums.count == 0 ? value : std::min(sums.minimum, value);
    sums.maximum = sums.count == 0 ? value : std::max(sums.maximum, value);
    sums.sum += value;
    sums.squares += value * value;
    ++sums.count;
}

class Differences {
  public:
    Differences(const Elements& first, const Elements& second, const Closeness& closeness)
        : first_(first),
          second_(second),
          closeness_(closeness),
          is_exact_(first.dtype == second.dtype && is_integer(first.dtype) &&
                    element_size(first.dtype) == 8) {}

    ElementDifference all() {
        const std::size_t size = element_size(first_.dtype);
        const std::size_t other_size = element_size(second_.dtype);
        result_.elements = std::min(first_.bytes.size() / size, second_.bytes.size() / other_size);
        for (std::uint64_t at = 0; at < result_.elements; at += kBlock) {
            const auto count =
                static_cast<std::size_t>(std::min<std::uint64_t>(kBlock, result_.elements - at));
            add_block(at, count, first_.bytes.data() + at * size, second_.bytes.data() + at * other_size);
        }
        return result_;
    }

  private:
    void add_block(std::uint64_t at, std::size_t count, const std::byte* one, const std::byte* other) {
        const std::size_t numbers = load(first_.dtype, one, count, ours_);
        const bool is_same_dtype = first_.dtype == second_.dtype;
        const std::size_t size = element_size(first_.dtype);
        if (is_same_dtype && std::memcmp(one, other, count * size) == 0) {
            for (std::size_t i = 0; i < numbers; ++i)
                add_equal(ours_[i]);
            return;
        }
        load(second_.dtype, other, count, theirs_);
        const std::size_t parts = numbers / count;
        for (std::size_t i = 0; i < count; ++i) {
            const bool agrees = is_same_dtype ? is_equal(one + i * size, other + i * size, size)
                                              : has_equal_numbers(i * parts, parts);
            if (!agrees && result_.different++ == 0) result_.first = at + i;
            for (std::size_t part = 0; part < parts; ++part) {
                const std::size_t offset = i * size + part * (size / parts);
                add_number(i * parts + part, one + offset, is_same_dtype ? other + offset : nullptr);
            }
        }
    }

    [[nodiscard]] bool has_equal_numbers(std::size_t from, std::size_t count) const {
        for (std::size_t i = from; i < from + count; ++i) {
            const bool both_nan = std::isnan(ours_[i]) && std::isnan(theirs_[i]);
            if (ours_[i] != theirs_[i] && !both_nan) return false;
        }
        return true;
    }

    void add_equal(double value) {
        if (!std::isfinite(value)) return;
        add_to(result_.ours, value);
        add_to(result_.theirs, value);
    }

    /// `other` is null if the dtypes differ.
    void add_number(std::size_t number, const std::byte* one, const std::byte* other) {
        const double ours = ours_[number];
        const double theirs = theirs_[number];
        if (std::isnan(ours) || std::isnan(theirs)) {
            const bool in_one = std::isnan(ours) != std::isnan(theirs);
            result_.nan_in_one += in_one ? 1 : 0;
            result_.beyond += in_one ? 1 : 0;
            return;
        }
        const double distance =
            is_exact_ ? distance_of(first_.dtype, one, other) : distance_between(ours, theirs);
        if (std::isfinite(ours) && std::isfinite(theirs)) {
            add_to(result_.ours, ours);
            add_to(result_.theirs, theirs);
            result_.squared_differences += distance * distance;
        }
        if (distance == 0) return;
        result_.largest_absolute = std::max(result_.largest_absolute, distance);
        // An infinite number allows no distance.
        const double allowed =
            std::isinf(theirs) ? 0 : closeness_.absolute + closeness_.relative * std::abs(theirs);
        result_.beyond += distance <= allowed ? 0 : 1;
        const bool has_relative = theirs != 0 && !std::isinf(theirs);
        add_relative(has_relative ? distance / std::abs(theirs) : std::numeric_limits<double>::infinity(),
                     result_);
        if (other != nullptr && has_ulps(part_dtype(first_.dtype))) add_ulp(one, other);
    }

    static double distance_between(double one, double other) {
        return one == other ? 0 : std::abs(one - other);
    }

    void add_ulp(const std::byte* one, const std::byte* other) {
        const std::size_t size = element_size(part_dtype(first_.dtype));
        const std::int64_t place = place_of(one, size);
        const std::int64_t other_place = place_of(other, size);
        result_.by_one_ulp += place + 1 == other_place || other_place + 1 == place ? 1 : 0;
    }

    Elements first_;
    Elements second_;
    Closeness closeness_;
    bool is_exact_ = false;
    ElementDifference result_;
    Block ours_{};
    Block theirs_{};
};

}  // namespace

ElementDifference difference_of(const Elements& first, const Elements& second, const Closeness& closeness) {
    return Differences(first, second, closeness).all();
}

}  // namespace aoti_dbg::compare
