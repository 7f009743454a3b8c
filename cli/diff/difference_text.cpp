#include "cli/diff/difference_text.hpp"

#include <algorithm>
#include <cmath>

#include "config/words.hpp"
#include "serializer/event_compact.hpp"
#include "serializer/number_text.hpp"

namespace aoti_dbg::cli {
namespace {

using compare::Grade;
using compare::RecordedTensor;

/// Returns the index of an element by its sizes: [0, 17, 300].
std::string index_text(std::uint64_t logical, const TensorFacts& facts) {
    std::string text = "]";
    for (std::size_t i = facts.sizes.size(); i-- > 0;) {
        const auto size = static_cast<std::uint64_t>(std::max<std::int64_t>(facts.sizes[i], 1));
        text.insert(0, (i == 0 ? "" : ", ") + std::to_string(logical % size));
        logical /= size;
    }
    return "[" + text;
}

std::string elements_text(const TensorFacts& facts, const compare::ElementDifference& found) {
    std::string text = grouped(found.different) + " of " + counted(found.elements, "element") +
                       (found.different == 1 ? " differs" : " differ") + ", max |Δ| " +
                       number_text(found.largest_absolute);
    if (found.by_one_ulp != 0) text += " (1 ulp: " + grouped(found.by_one_ulp) + ")";
    if (found.largest_absolute == 0 && found.nan_in_one == 0) return "only the bits of NaNs or zeros differ";
    if (found.nan_in_one != 0) text += ", NaN in only one recording: " + grouped(found.nan_in_one);
    return text + ", first at " + index_text(found.first, facts);
}

/// The digits of the log, or all of them.
enum class Digits : std::uint8_t { printed, all };

std::string text_of(double number, Digits digits) {
    if (digits == Digits::printed) return number_text(number);
    std::string text;
    append_shortest(number, text);
    return text;
}

std::string changes_text(const TensorStatistics& one, const TensorStatistics& other, Digits digits) {
    std::string text;
    const auto change = [&](const char* name, double first, double second) {
        const std::string before = text_of(first, digits);
        const std::string after = text_of(second, digits);
        if (before == after) return;
        text.append(text.empty() ? "" : ", ")
            .append(name)
            .append(" ")
            .append(before)
            .append(" → ")
            .append(after);
    };
    const auto count = [&](const char* name, std::uint64_t first, std::uint64_t second) {
        change(name, static_cast<double>(first), static_cast<double>(second));
    };
    const auto add = [&](const RealStatistics& a, const RealStatistics& b, bool is_printed) {
        count("NaN", a.nan, b.nan);
        count("+Inf", a.positive_infinity, b.positive_infinity);
        count("-Inf", a.negative_infinity, b.negative_infinity);
        if (!is_printed) return;
        count("zeros", a.zeros, b.zeros);
        change("mean", a.all.mean, b.all.mean);
        change("std", a.all.standard_deviation, b.all.standard_deviation);
        change("min", a.all.minimum.as_double(), b.all.minimum.as_double());
        change("max", a.all.maximum.as_double(), b.all.maximum.as_double());
    };
    const bool is_printed =
        wants(one.requested, Requested::printed) && wants(other.requested, Requested::printed);
    add(one.real, other.real, is_printed);
    if (is_complex(one.dtype)) add(one.imaginary, other.imaginary, is_printed);
    return text;
}

/// The histogram, without its empty parts.
std::string histogram_text(const compare::ElementDifference& found) {
    const std::size_t last = found.by_relative.size() - 1;
    std::string text;
    for (std::size_t i = 0; i <= last; ++i) {
        if (found.by_relative[i] == 0) continue;
        const std::string bound = i == last       ? "more"
                                  : i + 1 == last ? "below 1"
                                                  : "below 1e-" + std::to_string(last - 1 - i);
        text += (text.empty() ? "" : ", ") + bound + ": " + grouped(found.by_relative[i]);
    }
    if (text.empty()) return text;
    return "  relative error up to " + number_text(found.largest_relative) + ": " + text + "\n";
}

}  // namespace

std::string grouped(std::uint64_t number) {
    std::string text = std::to_string(number);
    for (std::size_t at = text.size(); at > 3;) {
        at -= 3;
        text.insert(at, 1, ',');
    }
    return text;
}

std::string counted(std::uint64_t number, const char* what) {
    return grouped(number) + " " + what + (number == 1 ? "" : "s");
}

std::string shown(const std::string& name) {
    return printable(name, 200);
}

/// Returns the name of a weight as the program knows it.
std::string name_of(const RecordedTensor& tensor) {
    const std::string& fqn = tensor.facts->original_fqn;
    return shown(fqn.empty() ? tensor.facts->label : fqn);
}

std::string difference_text(const RecordedTensor& first, const RecordedTensor& second, Grade grade,
                            const std::shared_ptr<const compare::ElementDifference>& elements) {
    if (first.tensor == nullptr || second.tensor == nullptr)
        return "  " + shown(first.facts->label) + ": " + shown(first.scalar) + " → " + shown(second.scalar) +
               "\n";
    std::string text = "  " + shown(first.facts->label) + " " + shown(short_text(*first.tensor));
    const bool same_dtype = first.tensor->dtype == second.tensor->dtype;
    if (grade == Grade::shape || !same_dtype) text += " → " + shown(short_text(*second.tensor));
    if (grade == Grade::shape) return text + "\n";
    text += ": ";
    if (elements != nullptr)
        return text + elements_text(*first.tensor, *elements) + "\n" + histogram_text(*elements);
    for (const Digits digits : {Digits::printed, Digits::all}) {
        const std::string changes = changes_text(first.statistics, second.statistics, digits);
        if (!changes.empty()) return text + changes + "\n";
    }
    return text + (grade == Grade::hash ? "the bits differ, and the printed statistics are equal\n"
                                        : "the sum or the place of the minimum or maximum differs\n");
}

std::string spread_text(const compare::Spread& found, const compare::Spread& allowed) {
    const auto says = [](const char* what, double is, const char* of, double may) {
        return std::string(what) + number_text(is) + ", relative to the " + of +
               ". Rounding explains at most " + number_text(may);
    };
    if (found.is_within(allowed) || std::isinf(found.shift)) return {};
    if (found.has_elements && allowed.has_elements && found.typical > allowed.typical)
        return says("the elements differ by ", found.typical, "values (root mean square)", allowed.typical);
    if (found.shift > allowed.shift)
        return says("mean or standard deviation differs by ", found.shift, "values", allowed.shift);
    if (found.range > allowed.range)
        return says("minimum or maximum differs by ", found.range, "largest value", allowed.range);
    return says("an element differs by ", found.largest, "largest value", allowed.largest);
}

}  // namespace aoti_dbg::cli
