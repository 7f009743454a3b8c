#include "cli/trace/argument_text.hpp"

#include <charconv>

#include "base/clean_text.hpp"
#include "serializer/number_text.hpp"

namespace aoti_dbg::cli {
namespace {

using Value = JsonLine::Value;

constexpr std::size_t kLongestScalar = 200;

constexpr std::uint32_t tag(std::string_view key) {
    return JsonLine::tag_of(key);
}

/// Returns a word that may be in the place of a number. The file may have any other.
std::string_view trusted_word(std::string_view text) {
    for (const std::string_view word : {"NaN", "Infinity", "-Infinity", "inputs"})
        if (text == word) return text;
    return "?";
}

/// Members that a line shows. Their texts are empty if the object does not have them.
struct Members {
    std::string_view mean, deviation, minimum, maximum;
    std::string_view nan, positive_infinity, negative_infinity, zeros;
    std::string_view measured_at;
    std::string_view why;
    Value real, imaginary;
    bool is_unwritten = false;
    bool is_unmeasured = false;

    explicit Members(const Value& object) {
        for (Value value = object.first(); value; value = value.next())
            take(value);
    }

  private:
    void take(const Value& value) {
        switch (value.tag()) {
            case tag("mean"):
                return set("mean", value, mean);
            case tag("std"):
                return set("std", value, deviation);
            case tag("min"):
                return set("min", value, minimum);
            case tag("max"):
                return set("max", value, maximum);
            case tag("nan"):
                return set("nan", value, nan);
            case tag("pos_inf"):
                return set("pos_inf", value, positive_infinity);
            case tag("neg_inf"):
                return set("neg_inf", value, negative_infinity);
            case tag("zeros"):
                return set("zeros", value, zeros);
            case tag("measured_at"):
                return set("measured_at", value, measured_at);
            case tag("why"):
                why = value.text();
                return;
            case tag("real"):
                real = value;
                return;
            case tag("imaginary"):
                imaginary = value;
                return;
            case tag("unwritten"):
                is_unwritten = value.text() == "true";
                return;
            case tag("measured"):
                is_unmeasured = true;
                return;
            default:
                return;
        }
    }
    // It is inlined, so that the compiler compares a short key as integers.
    [[gnu::always_inline]] static void set(std::string_view key, const Value& value,
                                           std::string_view& member) {
        if (value.key() == key)
            member = value.is(JsonLine::Kind::number) ? value.text() : trusted_word(value.text());
    }
};

std::uint64_t number_of(std::string_view text) {
    std::uint64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

/// Appends `before`, a text and `after`, unless the text is empty.
void append_unless_empty(std::string_view before, std::string_view text, std::string_view after,
                         std::string& out) {
    if (text.empty()) return;
    char piece[64];
    const std::size_t size = before.size() + text.size() + after.size();
    if (size > sizeof piece) {
        out.append(before).append(text).append(after);
        return;
    }
    before.copy(piece, before.size());
    text.copy(piece + before.size(), text.size());
    after.copy(piece + before.size() + text.size(), after.size());
    out.append(piece, size);
}

void append_statistics(const Members& members, std::string& out) {
    append_unless_empty(", mean ", members.mean, {}, out);
    append_unless_empty(", std ", members.deviation, {}, out);
    append_unless_empty(", min ", members.minimum, {}, out);
    append_unless_empty(", max ", members.maximum, {}, out);
    append_unless_empty(", ", members.nan, " NaN", out);
    append_unless_empty(", ", members.positive_infinity, " +Inf", out);
    append_unless_empty(", ", members.negative_infinity, " -Inf", out);
    append_unless_empty(", ", members.zeros, " zeros", out);
}

}  // namespace

std::uint64_t bytes_of(const TensorFacts& facts) {
    if (!facts.sizes_known) return 0;
    std::uint64_t bytes = element_size(facts.measured_dtype);
    for (const std::int64_t size : facts.sizes)
        if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes)) return 0;
    return bytes;
}

std::string ArgumentText::key_of(const ArgumentFacts& facts) {
    if (facts.parameter.empty() || facts.parameter == facts.label) return facts.label;
    return facts.label + " (" + facts.parameter + ")";
}

const std::string& ArgumentText::layout_of(const TensorFacts& facts) {
    if (const std::string* const known = layouts_.find(facts.number)) return *known;
    layouts_.make_room();
    std::string& text = layouts_.add(facts.number);
    append_clean(facts.dtype.empty() ? "?" : facts.dtype, text);
    text += facts.sizes_known ? " [" : " [?";
    for (std::size_t i = 0; facts.sizes_known && i < facts.sizes.size(); ++i) {
        if (i != 0) text += ", ";
        append_integer(facts.sizes[i], text);
    }
    text += ']';
    return text;
}

void ArgumentText::append(const MeasuredArgument& argument, const Value& object, ArgumentNumbers& numbers,
                          std::string& out) {
    numbers = {};
    if (argument.tensor == nullptr) {
        append_shortened(argument.scalar, kLongestScalar, out);
        return;
    }
    out += layout_of(*argument.tensor);
    const Members members(object);
    if (members.is_unwritten) {
        out += ", not written yet";
        return;
    }
    if (members.is_unmeasured) {
        out += ", not measured: ";
        append_clean(members.why.empty() ? "not yet" : members.why, out);
        return;
    }
    numbers.is_measured_here = members.measured_at.empty();
    numbers.nan = number_of(members.nan);
    append_statistics(members, out);
    for (const auto& [name, part] :
         {std::pair("real", &members.real), std::pair("imaginary", &members.imaginary)}) {
        if (!*part) continue;
        const Members own(*part);
        numbers.nan += number_of(own.nan);
        out.append(", ").append(name).append(":");
        append_statistics(own, out);
    }
    if (!members.measured_at.empty()) {
        out += members.measured_at == "inputs" ? ", as of the inputs" : ", as of call ";
        if (members.measured_at != "inputs") out += members.measured_at;
    }
}

}  // namespace aoti_dbg::cli
