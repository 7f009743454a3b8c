// Renders findings for people. No code may read this text back.
#include <algorithm>
#include <iterator>

#include "base/clean_text.hpp"
#include "base/compiled_function.hpp"
#include "base/words.hpp"
#include "serializer/codes.hpp"
#include "serializer/crash_call.hpp"
#include "serializer/finding.hpp"
#include "serializer/number_text.hpp"

namespace aoti_dbg {
namespace {

constexpr std::size_t kName = 11;  // column where values start, after two blanks
constexpr std::size_t kMostListed = 12;

std::string extreme_text(const Number& number) {
    switch (number.kind) {
        case Number::Kind::signed_integer:
            return std::to_string(number.signed_integer);
        case Number::Kind::unsigned_integer:
            return std::to_string(number.unsigned_integer);
        case Number::Kind::floating:
            break;
    }
    return number_text(number.floating);
}

void add_line(std::string_view name, std::string_view value, std::string& out) {
    out.append("  ").append(name);
    if (name.size() < kName) out.append(kName - name.size(), ' ');
    out.append(value).append("\n");
}

void add_lines(const char* name, const std::vector<std::string>& lines, std::string& out) {
    for (const std::string& line : lines)
        add_line(&line == &lines.front() ? name : "", clean_text(line), out);
}

std::string sizes_text(const std::vector<std::int64_t>& sizes) {
    std::string text = "[";
    for (const std::int64_t size : sizes)
        text += (text.size() == 1 ? "" : ", ") + std::to_string(size);
    return text + "]";
}

std::string anomalies_text(const TensorStatistics& statistics) {
    const auto sum = [&](std::uint64_t RealStatistics::*count) {
        return statistics.real.*count + statistics.imaginary.*count;
    };
    std::string text;
    const auto add = [&](std::uint64_t count, const char* what) {
        if (count != 0) text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + what;
    };
    add(sum(&RealStatistics::nan), "NaN");
    add(sum(&RealStatistics::positive_infinity), "+Inf");
    add(sum(&RealStatistics::negative_infinity), "-Inf");
    return text.empty() ? "all finite" : text;
}

std::string statistics_text(const TensorStatistics& statistics) {
    std::string text = statistics.count == 0 ? "empty" : anomalies_text(statistics);
    if (!wants(statistics.requested, Requested::printed) || statistics.count == 0 ||
        is_complex(statistics.dtype))
        return text;
    // The counts suffice for the non-finite elements. The statistics of the rest may explain them.
    const RealStatistics& real = statistics.real;
    const bool is_finite =
        is_integer(statistics.dtype) || real.nan + real.positive_infinity + real.negative_infinity == 0;
    const Moments& moments = is_finite ? real.all : real.finite;
    if (moments.count == 0 && !is_finite) return text;
    return text + (is_finite ? "; " : "; the rest ") + "min " + extreme_text(moments.minimum) + ", max " +
           extreme_text(moments.maximum) + ", mean " + number_text(moments.mean);
}

}  // namespace

std::string measured_text(const FindingTensor& tensor) {
    if (!tensor.unmeasured.empty()) return "not measured, " + clean_text(tensor.unmeasured);
    std::string text = statistics_text(tensor.statistics);
    if (tensor.is_earlier) {
        text += tensor.measured_at == kNoCallNumber
                    ? " (as of the run's inputs)"
                    : " (as of call " + std::to_string(tensor.measured_at) + ")";
    }
    return text;
}

namespace {

std::string tensor_text(const FindingTensor& tensor) {
    std::string text = clean_text(tensor.label);
    if (!tensor.original_fqn.empty()) text += " (" + clean_text(tensor.original_fqn) + ")";
    if (!tensor.scalar.empty()) return text + " = " + clean_text(tensor.scalar);
    if (!tensor.dtype.empty()) text += " " + clean_text(tensor.dtype);
    if (tensor.sizes_known) text += sizes_text(tensor.sizes);
    return text + ": " + measured_text(tensor);
}

std::string title(const Finding& finding) {
    const std::string label = clean_text(finding.tensor.label);
    switch (finding.kind) {
        case Finding::Kind::input_nan:
            return "model input " + label + " has NaN";
        case Finding::Kind::weight_nan:
            return "weight " +
                   (finding.tensor.original_fqn.empty() ? label : clean_text(finding.tensor.original_fqn)) +
                   " has NaN";
        case Finding::Kind::argument:
            return argument_title(finding);
        case Finding::Kind::inf:
            return "Inf in " + label + ", from finite inputs of " + clean_text(finding.kernel);
        case Finding::Kind::nan:
            break;
    }
    return "NaN in " + label + ", first made by " + clean_text(finding.kernel);
}

std::string place_text(const Finding& finding) {
    const bool is_race = !finding.other.empty();
    std::string text;
    const auto add = [&](std::string_view what, std::uint64_t number, bool known) {
        if (known) text.append(text.empty() ? "" : ", ").append(what).append(std::to_string(number));
    };
    add("model ", finding.model, finding.model != ~0U);
    if (!finding.model_name.empty()) text += " (" + clean_text(finding.model_name) + ")";
    add("run ", finding.run, finding.run != ~0U);
    add("call ", finding.call, finding.call != kNoCallNumber);
    if (is_race) text += ", on " + stream_text(finding.stream);
    if (finding.line != 0) text += (text.empty() ? "" : ", ") + line_text(finding.line, finding.source);
    return text;
}

/// Returns the value that `finding.elements` counts. The -Inf of an op that writes masks are not counted.
std::string counted_value(const Finding& finding) {
    if (finding.kind != Finding::Kind::inf) return "NaN";
    const TensorStatistics& statistics = finding.tensor.statistics;
    const auto has_others = [&](const RealStatistics& part) {
        return part.negative_infinity != 0 &&
               part.positive_infinity + part.negative_infinity > finding.elements;
    };
    const bool excludes =
        has_others(statistics.real) || (is_complex(statistics.dtype) && has_others(statistics.imaginary));
    return excludes ? "+Inf" : "Inf";
}

std::string elements_text(const Finding& finding) {
    std::string text = std::to_string(finding.elements) + " of " +
                       std::to_string(finding.tensor.statistics.count) + " are " + counted_value(finding);
    if (!finding.pattern.empty()) text += ": " + finding.pattern;
    for (std::size_t i = 0; i < finding.first.size(); ++i)
        text += (i == 0 ? "; first at " : ", ") + index_text(finding.first[i], finding.tensor.sizes);
    return text;
}

void add_tensors(std::string_view name, const std::vector<FindingTensor>& tensors, std::string& out) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        if (i == kMostListed && tensors.size() > kMostListed + 1)
            return add_line("", "and " + std::to_string(tensors.size() - i) + " more", out);
        add_line(i == 0 ? name : "", tensor_text(tensors[i]), out);
    }
}

/// Describes an argument's tensor without its contents. Empty if it is not a tensor or nothing is known of
/// it.
std::string argument_text(const FindingTensor& tensor) {
    if (tensor.dtype.empty() && !tensor.sizes_known) return {};
    std::string text = clean_text(tensor.label);
    if (!tensor.original_fqn.empty()) text += " (" + clean_text(tensor.original_fqn) + ")";
    text += " " + clean_text(tensor.dtype);
    if (tensor.sizes_known) text += sizes_text(tensor.sizes);
    return tensor.device.empty() ? text : text + " on " + clean_text(tensor.device);
}

void add_argument(const Finding& finding, std::string& out) {
    if (const std::string text = argument_text(finding.tensor); !text.empty())
        add_line(finding.tensor.role == Role::makes ? "result" : "argument", text, out);
    add_line("expected", clean_text(finding.expected), out);
    add_line("got", clean_text(finding.found), out);
    if (!finding.advice.empty()) add_line("try", clean_text(finding.advice), out);
}

}  // namespace

std::string argument_title(const Finding& finding) {
    const bool is_result = finding.tensor.role == Role::makes;
    const std::string label = clean_text(finding.tensor.label);
    const bool is_input = finding.kernel == kModelInputs;
    std::string subject = is_input ? "model" : clean_text(finding.kernel);
    if (!label.empty()) subject += (is_input ? " input " : is_result ? " result " : " argument ") + label;
    // For all other checks, the expectation names its subject itself.
    constexpr std::string_view kNamed[] = {"dtype", "device", "size", "rank", "stride"};
    const bool is_named = std::ranges::find(kNamed, finding.check) != std::end(kNamed);
    return subject + ": expected " + (is_named ? finding.check + " " : "") + clean_text(finding.expected) +
           ", got " + clean_text(finding.found);
}

std::string index_text(std::uint64_t index, const std::vector<std::int64_t>& sizes) {
    std::vector<std::uint64_t> places(sizes.size());
    std::uint64_t rest = index;
    for (std::size_t i = sizes.size(); i-- > 0;) {
        if (sizes[i] <= 0) return std::to_string(index);
        places[i] = rest % static_cast<std::uint64_t>(sizes[i]);
        rest /= static_cast<std::uint64_t>(sizes[i]);
    }
    if (rest != 0) return std::to_string(index);
    std::string text = "[";
    for (const std::uint64_t place : places)
        text += (text.size() == 1 ? "" : ", ") + std::to_string(place);
    return text + "]";
}

std::string finding_sentence(const Finding& finding) {
    std::string text = "aoti-dbg";
    if (const std::uint32_t code = code_of(finding); code != 0) text += " " + code_text(code);
    text += ": " + title(finding);
    const std::string place = place_text(finding);
    return place.empty() ? text : text + " (" + place + ")";
}

void append_finding_text(const Finding& finding, std::string& out) {
    const bool is_call = finding.kind == Finding::Kind::nan || finding.kind == Finding::Kind::inf;
    out.append("[ finding ").append(std::to_string(finding.number)).append(": ");
    out.append(title(finding)).append(" ]\n");
    if (const std::uint32_t code = code_of(finding); code != 0)
        add_line("code", code_text(code) + " (see: aoti-dbg explain " + code_text(code) + ")", out);
    if (is_call && !finding.symbol.empty() && finding.symbol != finding.kernel)
        add_line("function", clean_text(finding.symbol), out);
    if (const std::string place = place_text(finding); !place.empty()) add_line("where", place, out);
    if (!finding.original_aten.empty())
        add_line("ATen", clean_text(joined(finding.original_aten, ", ")), out);
    if (!finding.source_nodes.empty()) add_line("nodes", clean_text(joined(finding.source_nodes, ", ")), out);
    const bool has_lines = !finding.python_lines.empty();
    add_lines("python", has_lines ? finding.python_lines : finding.python_stack, out);
    if (has_lines && is_compiled_function(finding.model_name)) add_lines("caller", finding.python_stack, out);
    if (finding.kind == Finding::Kind::argument) {
        add_argument(finding, out);
    } else {
        add_line(is_call ? "output" : "tensor", tensor_text(finding.tensor), out);
        add_line("elements", elements_text(finding), out);
        add_tensors("also in", finding.also, out);
        if (is_call && finding.inputs.empty()) add_line("inputs", "none", out);
        add_tensors("inputs", finding.inputs, out);
    }
    for (const std::string& note : finding.notes)
        add_line("but", clean_text(note), out);
    if (!finding.replay.empty()) add_line("replay", clean_text(finding.replay), out);
    if (!finding.suppression.empty()) add_line("suppress", clean_text(finding.suppression), out);
}

}  // namespace aoti_dbg
