#include "serializer/event_compact.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/clean_text.hpp"
#include "serializer/event_words.hpp"
#include "serializer/number_text.hpp"

namespace aoti_dbg {
namespace {

// The columns take 126 characters, including the blanks between them.
constexpr std::size_t kCallWidth = 9;
constexpr std::size_t kKernelWidth = 30;
constexpr std::size_t kLabelWidth = 14;
constexpr std::size_t kTensorWidth = 24;
constexpr std::size_t kNumberWidth = 10;  // -1.235e-05
constexpr int kDigits = 4;

constexpr std::size_t kLongestScalar = 40;
constexpr std::uint32_t kDeepestCompactIndent = 8;
constexpr std::uint32_t kLinesPerTitle = 50;

constexpr const char* kRed = "\x1b[31m";
constexpr const char* kYellow = "\x1b[33m";
constexpr const char* kDim = "\x1b[2m";
constexpr const char* kBold = "\x1b[1m";
constexpr const char* kPlain = "\x1b[0m";

/// Aligns the text from `start` to the right end of its column. Wider text pushes the rest out.
void align_right(std::size_t start, std::size_t width, std::string& out) {
    const std::size_t length = out.size() - start;
    if (length < width) out.insert(start, width - length, ' ');
}

void append_column(std::string_view text, std::size_t width, std::string& out) {
    const std::size_t length = append_shortened(text, width, out);
    out.append(width - length + 2, ' ');
}

std::string column(std::string_view text, std::size_t width) {
    std::string padded;
    append_column(text, width, padded);
    return padded;
}

/// Aligns the title like the numbers below it.
void append_number_title(std::string_view text, std::string& out) {
    out += ' ';
    const std::size_t start = out.size();
    out += text;
    align_right(start, kNumberWidth, out);
}

void append_compact_number(double number, std::string& out) {
    out += ' ';
    const std::size_t start = out.size();
    append_general(number, kDigits, out);
    align_right(start, kNumberWidth, out);
}

/// Appends integers exactly if they fit.
void append_compact_number(const Number& number, std::string& out) {
    if (number.kind == Number::Kind::floating) return append_compact_number(number.floating, out);
    out += ' ';
    const std::size_t start = out.size();
    if (number.kind == Number::Kind::signed_integer) {
        append_integer(number.signed_integer, out);
    } else {
        append_integer(number.unsigned_integer, out);
    }
    if (out.size() - start > kNumberWidth) {
        out.resize(start);
        append_general(number.as_double(), kDigits, out);
    }
    align_right(start, kNumberWidth, out);
}

/// Returns "f16" for "float16".
std::string short_dtype(std::string_view dtype) {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kShort = {
        {{"bfloat", "bf"}, {"float", "f"}, {"complex", "c"}, {"uint", "u"}, {"int", "i"}}};
    for (const auto& [name, shorter] : kShort) {
        if (dtype.substr(0, name.size()) == name)
            return std::string(shorter).append(dtype.substr(name.size()));
    }
    return std::string(dtype);
}

void append_count(std::uint64_t count, std::string_view what, bool& any, std::string& out) {
    if (count == 0) return;
    out += any ? ", " : "! ";
    any = true;
    append_integer(count, out);
    out += what;
}

bool is_measured(const MeasuredArgument& argument) {
    return argument.measured == Measured::now || argument.measured == Measured::earlier;
}

bool has_nonfinite(const RealStatistics& part) {
    return part.nan != 0 || part.positive_infinity != 0 || part.negative_infinity != 0;
}

void end_line(std::string& out) {
    while (!out.empty() && out.back() == ' ')
        out.pop_back();
    out += '\n';
}

}  // namespace

std::string short_text(const TensorFacts& facts) {
    std::string text = facts.dtype.empty() ? "?" : short_dtype(facts.dtype);
    text += '[';
    for (std::size_t i = 0; facts.sizes_known && i < facts.sizes.size(); ++i) {
        if (i != 0) text += ',';
        append_integer(facts.sizes[i], text);
    }
    text += facts.sizes_known ? "]" : "?]";
    return text;
}

void CompactRenderer::mark(const char* code, std::string& out) const {
    if (colour_) out += code;
}

const std::string& CompactRenderer::kernel_text(const MeasuredCall& call) {
    const SiteFacts& facts = site_or_unknown(call);
    if (const std::string* known = kernels_.find(facts.number)) return *known;
    // A site is always, or nearly always, called at the same depth.
    std::string& text = kernels_.add(facts.number);
    const std::size_t indent = std::size_t{2} * std::min(call.nesting, kDeepestCompactIndent);
    text.append(indent, ' ');
    append_column(facts.kernel, kKernelWidth - indent, text);
    return text;
}

const std::string& CompactRenderer::label_text(const ArgumentFacts& facts) {
    if (const std::string* known = labels_.find(facts.number)) return *known;
    return labels_.add(facts.number) = column(facts.label, kLabelWidth);
}

const std::string& CompactRenderer::tensor_text(const TensorFacts& facts) {
    if (const std::string* known = tensors_.find(facts.number)) return *known;
    return tensors_.add(facts.number) = column(short_text(facts), kTensorWidth);
}

void CompactRenderer::begin_line(const MeasuredCall& call, std::string& out) {
    if (lines_to_title_ == 0) {
        lines_to_title_ = kLinesPerTitle;
        mark(kBold, out);
        out.append("     call   ");
        append_column("kernel", kKernelWidth, out);
        append_column("tensor", kLabelWidth, out);
        append_column("dtype[sizes]", kTensorWidth, out);
        for (const char* name : {"mean", "std", "min", "max"})
            append_number_title(name, out);
        mark(kPlain, out);
        out += '\n';
    }
    --lines_to_title_;
    const std::size_t start = out.size();
    if (call.run == ~0U) {
        out += '-';
    } else {
        append_integer(std::uint64_t{call.run}, out);
    }
    const bool is_border = call.side == EventSide::inputs || call.side == EventSide::outputs;
    if (is_border) {
        out += call.side == EventSide::inputs ? ".in" : ".out";
    } else if (call.call != kNoCallNumber) {
        out += '.';
        append_integer(std::uint64_t{call.call}, out);
    }
    align_right(start, kCallWidth, out);
    out += call.side == EventSide::before || call.side == EventSide::inputs ? " > " : " < ";
    if (names_kernel_ && is_border) {
        append_column(call.side == EventSide::inputs ? "(inputs)" : "(outputs)", kKernelWidth, out);
    } else if (names_kernel_) {
        mark(kBold, out);
        out += kernel_text(call);
        mark(kPlain, out);
    } else {
        out.append(kKernelWidth + 2, ' ');
    }
    names_kernel_ = false;
}

void CompactRenderer::render_part(const MeasuredArgument& argument, const RealStatistics& part,
                                  std::string& out) const {
    const TensorStatistics& statistics = argument.statistics;
    const bool is_bad = has_nonfinite(part);
    const bool is_reused = argument.measured == Measured::earlier;
    const bool is_zero =
        statistics.count != 0 && part.zeros == numbers_in_part(statistics.dtype, statistics.count);
    if (is_bad || is_reused) mark(is_bad ? kRed : kDim, out);
    if (statistics.count == 0) {
        out += " empty";
    } else if (wants(statistics.requested, Requested::printed | Requested::indices)) {
        append_compact_number(part.all.mean, out);
        append_compact_number(part.all.standard_deviation, out);
        append_compact_number(part.all.minimum, out);
        append_compact_number(part.all.maximum, out);
    }
    if (is_bad || is_reused || is_zero) out += "  ";
    bool any = false;
    append_count(part.nan, " NaN", any, out);
    append_count(part.positive_infinity, " +Inf", any, out);
    append_count(part.negative_infinity, " -Inf", any, out);
    if (is_zero) {
        if (!is_reused) mark(kYellow, out);
        out += "all zeros";
    }
    if (is_reused) {
        out += is_bad || is_zero ? ", as of " : "as of ";
        if (argument.measured_at == kNoCallNumber) {
            out += "the inputs";
        } else {
            append_integer(std::uint64_t{argument.measured_at}, out);
        }
    }
    if (is_bad || is_reused || is_zero) mark(kPlain, out);
    out += '\n';
}

void CompactRenderer::render_argument(const MeasuredCall& call, const MeasuredArgument& argument,
                                      std::string& out) {
    const ArgumentFacts& facts = facts_or_unknown(argument);
    const bool is_pair =
        is_measured(argument) && is_complex(argument.statistics.dtype) && !is_unwritten(call, argument);
    for (const char* part : {".re", ".im"}) {
        begin_line(call, out);
        out += is_pair ? column(facts.label + part, kLabelWidth) : label_text(facts);
        out += tensor_text(*argument.tensor);
        if (is_unwritten(call, argument)) {
            mark(kDim, out);
            out += " unwritten";
            mark(kPlain, out);
            out += '\n';
            return;
        }
        if (!is_measured(argument)) {
            mark(kDim, out);
            out += " not measured: ";
            append_clean(reason_text(argument), out);
            mark(kPlain, out);
            out += '\n';
            return;
        }
        const bool is_real = part[1] == 'r';
        render_part(argument, is_real ? argument.statistics.real : argument.statistics.imaginary, out);
        if (!is_pair) return;
    }
}

void CompactRenderer::render(const MeasuredCall& call, std::string& out) {
    kernels_.make_room();
    labels_.make_room();
    tensors_.make_room();
    names_kernel_ = true;
    if (call.is_serialized && call.side == EventSide::before) {
        begin_line(call, out);
        out += "serialized by a completion marker";
        end_line(out);
    }
    if (call.name_only) {
        begin_line(call, out);
        return end_line(out);
    }
    bool has_scalars = false;
    for (const MeasuredArgument& argument : call.arguments) {
        if (argument.tensor != nullptr) render_argument(call, argument, out);
        has_scalars = has_scalars || argument.tensor == nullptr;
    }
    if (!has_scalars) return;
    begin_line(call, out);
    bool is_first = true;
    for (const MeasuredArgument& argument : call.arguments) {
        if (argument.tensor != nullptr) continue;
        if (!std::exchange(is_first, false)) out += "  ";
        append_shortened(facts_or_unknown(argument).label, kLongestScalar, out);
        out += '=';
        append_shortened(argument.scalar, kLongestScalar, out);
    }
    end_line(out);
}

}  // namespace aoti_dbg
