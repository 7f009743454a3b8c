#include "cli/show/tensor_text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/clean_text.hpp"
#include "base/words.hpp"
#include "cli/tensor_numbers.hpp"
#include "serializer/element_value.hpp"
#include "serializer/number_text.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr std::uint64_t kShownValues = 8;
constexpr std::size_t kBins = 10;
constexpr std::size_t kWidest = 40;  // bar of the histogram

std::string list_text(const std::vector<std::int64_t>& numbers) {
    std::string text = "[";
    for (std::size_t i = 0; i < numbers.size(); ++i)
        text += (i == 0 ? "" : ",") + std::to_string(numbers[i]);
    return text + "]";
}

std::string tensor_line(const char* name, const std::string& text) {
    std::string padded = name;
    padded.resize(11, ' ');
    return padded + text + "\n";
}

/// Returns integers exactly.
std::string number_of(const TensorNumbers& elements, DType dtype, std::uint64_t element, std::uint32_t part) {
    const double value = elements.number(element, part);
    if (std::isnan(value)) return "nan";
    std::string text;
    if (!is_integer(dtype)) return number_text(value);
    append_json_element(dtype, elements.element(element), text);
    return text;
}

std::string counts_text(const TensorStatistics& statistics) {
    const RealStatistics& real = statistics.real;
    std::string text = std::to_string(statistics.count);
    const char* before = ": ";
    const auto add = [&](std::uint64_t count, const char* what) {
        if (count == 0) return;
        text.append(before).append(std::to_string(count)).append(what);
        before = ", ";
    };
    add(real.zeros, " zero");
    add(real.nan, " NaN");
    add(real.positive_infinity, " +Inf");
    add(real.negative_infinity, " -Inf");
    if (real.first_nonfinite != kNoIndex)
        text += "; the first that is not finite is element " + std::to_string(real.first_nonfinite);
    return text;
}

/// Returns integers exactly.
std::string bound_text(const Number& number) {
    if (number.kind == Number::Kind::signed_integer) return std::to_string(number.signed_integer);
    if (number.kind == Number::Kind::unsigned_integer) return std::to_string(number.unsigned_integer);
    return number_text(number.floating);
}

std::string moments_text(const Moments& moments) {
    if (moments.count == 0) return "none";
    return "min " + bound_text(moments.minimum) + ", max " + bound_text(moments.maximum) + ", mean " +
           number_text(moments.mean) + ", std " + number_text(moments.standard_deviation);
}

std::string values_text(const TensorNumbers& elements, DType dtype) {
    std::string text;
    for (std::uint64_t i = 0; i < std::min(elements.count(), kShownValues); ++i) {
        if (i != 0) text += ", ";
        text += number_of(elements, dtype, i, 0);
        if (is_packed(dtype)) text += ", " + number_of(elements, dtype, i, 1);
        if (is_complex(dtype)) text += " + " + number_of(elements, dtype, i, 1) + "j";
    }
    return text + (elements.count() > kShownValues ? ", ..." : "");
}

/// Returns one line for each bin between the finite minimum and maximum; of a complex tensor its real parts.
std::string histogram_text(const TensorNumbers& elements, const Moments& finite) {
    const std::vector<std::uint64_t> counts = elements.histogram(finite, kBins);
    if (counts.empty()) return {};
    const double least = finite.minimum.as_double();
    const double range = finite.maximum.as_double() - least;
    const std::uint64_t most = *std::ranges::max_element(counts);
    std::array<std::string, kBins> ranges;
    for (std::size_t bin = 0; bin < kBins; ++bin) {
        const auto edge = [&](std::size_t at) {
            return number_text(least + range * static_cast<double>(at) / kBins);
        };
        ranges[bin] = edge(bin) + " to " + edge(bin + 1);
    }
    const std::size_t width =
        std::max<std::size_t>(26, std::ranges::max_element(ranges, {}, &std::string::size)->size());
    std::string text;
    for (std::size_t bin = 0; bin < kBins; ++bin) {
        std::string row = ranges[bin];
        row.resize(width, ' ');
        row += " " + std::to_string(counts[bin]);
        const std::uint64_t bar = (counts[bin] * kWidest + most - 1) / most;
        if (bar != 0) row.resize(std::max(row.size(), width + 10), ' ');
        text += tensor_line(bin == 0 ? "histogram" : "", row + (bar == 0 ? "" : " " + std::string(bar, '#')));
    }
    return text;
}

}  // namespace

std::string tensor_text(const PtView& tensor) {
    const TensorNumbers elements(tensor);
    const TensorStatistics statistics = elements.statistics();
    std::string text =
        tensor_line("tensor", std::string(dtype_name(tensor.dtype)) + list_text(tensor.sizes) + ", strides " +
                                  list_text(tensor.strides) + ", from " + clean_text(tensor.device) + ", " +
                                  memory_text(tensor.storage.size()) + " of storage");
    text += tensor_line("elements", counts_text(statistics));
    if (elements.count() == 0) return text;
    text += tensor_line(is_complex(tensor.dtype) ? "real" : "finite", moments_text(statistics.real.finite));
    if (is_complex(tensor.dtype)) text += tensor_line("imaginary", moments_text(statistics.imaginary.finite));
    text += tensor_line("values", values_text(elements, tensor.dtype));
    return text + histogram_text(elements, statistics.real.finite);
}

}  // namespace aoti_dbg::cli
