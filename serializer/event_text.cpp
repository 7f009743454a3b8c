#include "serializer/event_text.hpp"

#include <algorithm>

#include "base/clean_text.hpp"
#include "serializer/event_words.hpp"
#include "serializer/number_text.hpp"

namespace aoti_dbg {
namespace {

constexpr std::uint32_t kDeepestIndent = 64;

/// Returns the C++ or PyTorch name, whichever PyTorch's printer shows.
const char* printed_dtype(DType dtype) {
    switch (dtype) {
        case DType::float64:
            return "double";
        case DType::float8_e4m3fn:
            return "c10::Float8_e4m3fn";
        case DType::float8_e5m2:
            return "c10::Float8_e5m2";
        case DType::float8_e4m3fnuz:
            return "c10::Float8_e4m3fnuz";
        case DType::float8_e5m2fnuz:
            return "c10::Float8_e5m2fnuz";
        case DType::float8_e8m0fnu:
            return "c10::Float8_e8m0fnu";
        case DType::float4_e2m1fn_x2:
            return "c10::Float4_e2m1fn_x2";
        case DType::complex32:
            return "c10::complex<c10::Half>";
        case DType::complex64:
            return "c10::complex<float>";
        case DType::complex128:
            return "c10::complex<double>";
        case DType::int8:
            return "signed char";
        case DType::int16:
            return "short int";
        case DType::int32:
            return "int";
        case DType::int64:
            return "long int";
        case DType::uint8:
            return "unsigned char";
        case DType::uint16:
            return "short unsigned int";
        case DType::uint32:
            return "unsigned int";
        case DType::uint64:
            return "long unsigned int";
        default:
            return dtype_name(dtype);
    }
}

void append_dtype(const TensorFacts& facts, std::string& out) {
    if (facts.dtype == dtype_name(facts.measured_dtype)) {
        out += printed_dtype(facts.measured_dtype);
    } else {
        append_clean(facts.dtype.empty() ? "unknown" : std::string_view(facts.dtype), out);
    }
}

void append_numbers(const char* name, const std::vector<std::int64_t>& numbers, std::string& out) {
    out += name;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
        if (i != 0) out += ", ";
        append_integer(numbers[i], out);
    }
    out += "]\n";
}

/// Appends integers with all their digits, although PyTorch rounds them to six.
void append_number(const Number& number, std::string& out) {
    switch (number.kind) {
        case Number::Kind::signed_integer:
            return append_integer(number.signed_integer, out);
        case Number::Kind::unsigned_integer:
            return append_integer(number.unsigned_integer, out);
        case Number::Kind::floating:
            return append_general(number.floating, 6, out);
    }
}

void append_number(double number, std::string& out) {
    append_general(number, 6, out);
}

/// Appends a line with one statistic, with both parts for complex tensors.
template <typename Value>
void append_line(std::string_view name, const TensorStatistics& statistics, Value Moments::*value,
                 std::string& out) {
    out += name;
    if (is_complex(statistics.dtype)) {
        out += '(';
        append_number(statistics.real.all.*value, out);
        out += ',';
        append_number(statistics.imaginary.all.*value, out);
        out += ')';
    } else {
        append_number(statistics.real.all.*value, out);
    }
    out += '\n';
}

void append_counts(const TensorStatistics& statistics, std::string& out) {
    const RealStatistics& real = statistics.real;
    const RealStatistics& imaginary = statistics.imaginary;
    const std::uint64_t nan = real.nan + imaginary.nan;
    const std::uint64_t positive = real.positive_infinity + imaginary.positive_infinity;
    const std::uint64_t negative = real.negative_infinity + imaginary.negative_infinity;
    if (nan == 0 && positive == 0 && negative == 0) return;
    out += "NaN/Inf: ";
    append_integer(nan, out);
    out += " NaN, ";
    append_integer(positive, out);
    out += " +Inf, ";
    append_integer(negative, out);
    out += " -Inf\n";
}

}  // namespace

void append_model_text(std::uint32_t number, const CompiledFunction& function, std::string& out) {
    out += "[ model ";
    append_integer(std::uint64_t{number}, out);
    out += ": ";
    append_clean(description_of(function), out);
    out += " ]\n";
}

const TextRenderer::SiteText& TextRenderer::text_of(const SiteFacts& facts) {
    if (const SiteText* known = sites_.find(facts.number)) return *known;
    SiteText& text = sites_.add(facts.number);
    append_clean(facts.kernel, text.kernel);
    text.before = "[  before_launch - " + text.kernel + " - ";
    text.after = "[  after_launch - " + text.kernel + " - ";
    return text;
}

TextRenderer::ArgumentText& TextRenderer::text_of(const ArgumentFacts& facts) {
    if (ArgumentText* known = arguments_.find(facts.number)) return *known;
    ArgumentText& text = arguments_.add(facts.number);
    append_clean(facts.label, text.label);
    return text;
}

const TextRenderer::TensorText& TextRenderer::text_of(const TensorFacts& facts) {
    if (const TensorText* known = tensors_.find(facts.number)) return *known;
    TensorText& text = tensors_.add(facts.number);
    text.may_have_values = element_count(facts.sizes) <= kMostPrintedValues;
    text.head = "Number of elements: ";
    if (facts.sizes_known) append_integer(element_count(facts.sizes), text.head);
    text.head += facts.sizes_known ? "\nDtype: " : "unknown\nDtype: ";
    append_dtype(facts, text.head);
    text.head += '\n';

    text.tail = "Device: ";
    append_clean(facts.device, text.tail);
    text.tail += '\n';
    if (facts.sizes_known) {
        append_numbers("Size: [", facts.sizes, text.tail);
        if (facts.is_strided) append_numbers("Stride: [", facts.strides, text.tail);
        text.tail += facts.is_strided ? "Layout: Strided\n" : "Layout: not strided\n";
        text.tail += facts.is_contiguous ? "Is contiguous: 1\n" : "Is contiguous: 0\n";
        text.tail += "Requires grad: 0\n";  // gradients are off during a run
    } else {
        text.tail += "Size: unknown\n";
    }
    return text;
}

void TextRenderer::append_statistics(const TensorStatistics& statistics, std::string& out) {
    if (StatisticsTexts::are_plain(statistics)) {
        out += texts_->lines(statistics);
        return;
    }
    if (statistics.count == 0) return;
    if (wants(statistics.requested, Requested::printed | Requested::indices)) {
        append_line("Mean value: ", statistics, &Moments::mean, out);
        append_line("Min value: ", statistics, &Moments::minimum, out);
        append_line("Max value: ", statistics, &Moments::maximum, out);
        append_line("Std value: ", statistics, &Moments::standard_deviation, out);
    }
    append_counts(statistics, out);
}

void TextRenderer::render_tensor(const MeasuredArgument& argument, std::string_view title, Start& start,
                                 std::string_view label, std::string& out) {
    const TensorText& text = text_of(*argument.tensor);
    const bool is_measured = argument.measured == Measured::now || argument.measured == Measured::earlier;
    if (start.tensor != &text || start.title != title.data()) {
        start.tensor = &text;
        start.title = title.data();
        start.text.assign(title).append(label).append("  ]:\n");
        start.title_size = start.text.size();
        start.text += text.head;
    }
    if (is_measured && text.may_have_values) {
        out.append(start.text, 0, start.title_size);
        append_values(*argument.tensor, argument.values, out);
        out.append(start.text, start.title_size);
    } else {
        out += start.text;
    }
    if (is_measured) {
        append_statistics(argument.statistics, out);
    } else {
        out += "Not measured: ";
        append_clean(reason_text(argument), out);
        out += '\n';
    }
    out += text.tail;
    if (argument.measured == Measured::earlier && argument.measured_at == kNoCallNumber) {
        out += "As of: the inputs\n";
    } else if (argument.measured == Measured::earlier) {
        out += "As of: call ";
        append_integer(std::uint64_t{argument.measured_at}, out);
        out += '\n';
    }
    out += '\n';
}

void TextRenderer::render(const MeasuredCall& call, std::string& out) {
    const bool sites = sites_.make_room();
    const bool arguments = arguments_.make_room();
    const bool tensors = tensors_.make_room();
    if (sites || arguments || tensors) {
        // The texts of arguments point to the others.
        sites_.clear();
        arguments_.clear();
        tensors_.clear();
    }
    std::string_view title = "[  aoti_model_inputs - ";
    if (call.side == EventSide::outputs) title = "[  aoti_model_outputs - ";
    if (call.side == EventSide::before || call.side == EventSide::after) {
        const SiteText& site = text_of(site_or_unknown(call));
        if (call.name_only) {
            out.append(std::size_t{2} * std::min(call.nesting, kDeepestIndent), ' ');
            out += call.side == EventSide::before ? "[ before_launch: " : "[ after_launch: ";
            out.append(site.kernel).append(" ]\n");
            return;
        }
        title = call.side == EventSide::before ? site.before : site.after;
    }
    const bool is_before = call.side == EventSide::before || call.side == EventSide::inputs;
    for (const MeasuredArgument& argument : call.arguments) {
        ArgumentText& text = text_of(facts_or_unknown(argument));
        if (argument.tensor != nullptr) {
            render_tensor(argument, title, is_before ? text.before : text.after, text.label, out);
            continue;
        }
        out.append(title).append(text.label).append(": ");
        append_clean(argument.scalar, out);
        out += "  ]\n";
    }
}

}  // namespace aoti_dbg
