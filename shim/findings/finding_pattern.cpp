#include "shim/findings/finding_pattern.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

#include "stats_kernels/element_decode.hpp"

namespace aoti_dbg {
namespace {

constexpr std::size_t kMostFirst = 8;  // reported indices
constexpr std::size_t kMostRows = 4;   // named rows

template <typename T>
T load(const std::byte* at) {
    T value;
    memcpy(&value, at, sizeof value);
    return value;
}

/// Returns the value of one part of an element. Integers are always finite, so they count as 0.
double value_of(DType dtype, const std::byte* at) {
    switch (dtype) {
        case DType::float64:
            return load<double>(at);
        case DType::float32:
            return load<float>(at);
        case DType::float16:
            return decode_float16(load<std::uint16_t>(at));
        case DType::bfloat16:
            return decode_bfloat16(load<std::uint16_t>(at));
        default:
            return is_float8(dtype) ? decode_float8(dtype, load<std::uint8_t>(at)) : 0;
    }
}

bool is_wrong(double value, Wrong wrong) {
    if (std::isnan(value)) return wrong.nan;
    if (std::isinf(value)) return value > 0 ? wrong.positive_infinity : wrong.negative_infinity;
    return false;
}

/// Returns an empty list if the values are not available.
std::vector<std::uint64_t> exact_places(const MeasuredArgument& argument, Wrong wrong) {
    std::vector<std::uint64_t> places;
    const DType dtype = argument.statistics.dtype;
    const std::size_t size = element_size(dtype);
    if (argument.values.size() != argument.statistics.count * size) return places;
    const std::size_t part = element_size(part_dtype(dtype));
    for (std::size_t i = 0; i * size < argument.values.size(); ++i) {
        bool found = false;
        for (std::size_t at = i * size; at < (i + 1) * size; at += part)
            found = found || is_wrong(value_of(part_dtype(dtype), argument.values.data() + at), wrong);
        if (found) places.push_back(i);
    }
    return places;
}

/// Formats a row such as "[2, 0, :]". The rank must be at least 2.
std::string row_text(std::uint64_t row, std::span<const std::int64_t> sizes) {
    std::string text = ":]";
    for (std::size_t i = sizes.size() - 1; i-- > 0;) {
        const auto size = static_cast<std::uint64_t>(sizes[i]);
        text.insert(0, std::to_string(row % size) + ", ");
        row /= size;
    }
    return "[" + text;
}

std::string column_text(std::uint64_t column, std::span<const std::int64_t> sizes) {
    return (sizes.size() == 2 ? "[:, " : "[..., ") + std::to_string(column) + "]";
}

bool are_whole_rows(const std::vector<std::uint64_t>& places, std::uint64_t row) {
    if (places.size() % row != 0) return false;
    for (std::size_t i = 0; i < places.size(); ++i)
        if (places[i] % row != i % row || places[i] - i % row != places[i - i % row]) return false;
    return true;
}

std::string rows_text(const std::vector<std::uint64_t>& places, std::uint64_t row,
                      std::span<const std::int64_t> sizes) {
    const std::size_t rows = places.size() / row;
    std::string text = rows == 1 ? "the row " : "the rows ";
    for (std::size_t i = 0; i < std::min(rows, kMostRows); ++i)
        text += (i == 0 ? "" : ", ") + row_text(places[i * row] / row, sizes);
    return rows > kMostRows ? text + " and " + std::to_string(rows - kMostRows) + " more" : text;
}

std::string exact_text(const std::vector<std::uint64_t>& places, std::uint64_t count,
                       std::span<const std::int64_t> sizes) {
    if (sizes.size() >= 2 && sizes.back() > 1) {
        const auto row = static_cast<std::uint64_t>(sizes.back());
        if (are_whole_rows(places, row)) return rows_text(places, row, sizes);
        const bool one_column = std::all_of(places.begin(), places.end(), [&](std::uint64_t place) {
            return place % row == places.front() % row;
        });
        if (one_column && places.size() * row == count)
            return "the column " + column_text(places.front() % row, sizes);
    }
    const bool in_a_row = places.back() - places.front() + 1 == places.size();
    return in_a_row ? "consecutive" : "scattered";
}

/// Derives a pattern from the count and the first index alone.
std::string likely_text(std::uint64_t wrong, std::uint64_t first, std::uint64_t count,
                        std::span<const std::int64_t> sizes) {
    if (sizes.size() < 2 || sizes.back() <= 1 || first == kNoIndex) return {};
    const auto row = static_cast<std::uint64_t>(sizes.back());
    const std::uint64_t rows = count / row;
    if (wrong % row == 0 && first % row == 0) {
        const std::uint64_t whole = wrong / row;
        return "the count matches " + std::to_string(whole) + (whole == 1 ? " row" : " rows") +
               ", the first in " + row_text(first / row, sizes);
    }
    if (wrong == rows && first < row)
        return "the count matches 1 column, the first in " + column_text(first, sizes);
    return {};
}

/// Returns the first index that the statistics give, or kNoIndex if they give none.
std::uint64_t first_of(const TensorStatistics& statistics, Wrong wrong) {
    if (is_complex(statistics.dtype)) return kNoIndex;
    const RealStatistics& real = statistics.real;
    if (wrong.nan) return real.first_nan;
    // The first nonfinite element has one of these values only if there are no others.
    const std::uint64_t all = real.nan + real.positive_infinity + real.negative_infinity;
    return all == count_wrong(statistics, wrong) ? real.first_nonfinite : kNoIndex;
}

}  // namespace

std::uint64_t count_wrong(const TensorStatistics& statistics, Wrong wrong) {
    const auto count = [wrong](const RealStatistics& part) {
        return (wrong.nan ? part.nan : 0) + (wrong.positive_infinity ? part.positive_infinity : 0) +
               (wrong.negative_infinity ? part.negative_infinity : 0);
    };
    const std::uint64_t imaginary = is_complex(statistics.dtype) ? count(statistics.imaginary) : 0;
    return std::max(count(statistics.real), imaginary);
}

WrongPlaces places_of_wrong(const MeasuredArgument& argument, Wrong wrong) {
    const TensorStatistics& statistics = argument.statistics;
    const std::vector<std::uint64_t> exact = exact_places(argument, wrong);
    const std::uint64_t first = exact.empty() ? first_of(statistics, wrong) : exact.front();
    WrongPlaces places;
    places.first.assign(exact.begin(),
                        exact.begin() + static_cast<std::ptrdiff_t>(std::min(exact.size(), kMostFirst)));
    if (exact.empty() && first != kNoIndex) places.first.push_back(first);

    const std::uint64_t count = count_wrong(statistics, wrong);
    const bool is_known = argument.tensor != nullptr && argument.tensor->sizes_known &&
                          element_count(argument.tensor->sizes) == statistics.count;
    const std::span<const std::int64_t> sizes =
        is_known ? std::span<const std::int64_t>(argument.tensor->sizes) : std::span<const std::int64_t>();
    if (exact.empty() ? (count == statistics.count && !is_complex(statistics.dtype))
                      : exact.size() == statistics.count) {
        places.text = statistics.count == 1 ? "" : "all elements";
    } else if (count > 1 && !exact.empty()) {
        places.text = exact.size() == 1 ? "" : exact_text(exact, statistics.count, sizes);
    } else if (count > 1 && !is_complex(statistics.dtype)) {
        places.text = likely_text(count, first, statistics.count, sizes);
    }
    return places;
}

}  // namespace aoti_dbg
