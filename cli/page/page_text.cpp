// See page_text.hpp.
#include "cli/page/page_text.hpp"

#include <charconv>
#include <cmath>

#include "serializer/event_jsonl.hpp"
#include "serializer/number_text.hpp"

namespace aoti_dbg::cli {
namespace {

constexpr std::string_view kLineSeparators = "\xE2\x80";  // followed by A8 or A9

/// Returns the length in bytes of a character that must be escaped, or 0.
std::size_t escaped_length(std::string_view rest, std::string_view& escape) {
    switch (rest.front()) {
        case '<':
            escape = "\\u003c";
            return 1;
        case '>':
            escape = "\\u003e";
            return 1;
        case '&':
            escape = "\\u0026";
            return 1;
        default:
            break;
    }
    if (!rest.starts_with(kLineSeparators) || rest.size() < 3) return 0;
    escape = rest[2] == '\xA8' ? "\\u2028" : "\\u2029";
    return rest[2] == '\xA8' || rest[2] == '\xA9' ? 3 : 0;
}

/// Returns nothing if a difference is too large.
std::vector<std::int64_t> deltas_of(const std::vector<std::int64_t>& numbers) {
    std::vector<std::int64_t> deltas;
    deltas.reserve(numbers.size());
    std::int64_t last = 0;
    for (const std::int64_t number : numbers) {
        if (__builtin_sub_overflow(number, last, &deltas.emplace_back())) return {};
        last = number;
    }
    return deltas;
}

void append_one(std::int64_t number, std::string& out) {
    char digits[24];
    const std::to_chars_result end = std::to_chars(digits, digits + sizeof digits, number);
    out.append(digits, end.ptr);
}

void append_one(double number, std::string& out) {
    if (std::bit_cast<std::uint64_t>(number) == kUnknownBits)
        out += "null";
    else
        append_page_number(number, out);
}

/// Two kinds of NaN are not the same.
template <typename Number>
bool is_same(Number one, Number other) {
    return std::bit_cast<std::uint64_t>(one) == std::bit_cast<std::uint64_t>(other);
}

/// Returns the shorter of a list and of runs of equal numbers.
template <typename Number>
std::string list_text(const std::vector<Number>& numbers) {
    std::string list = "[";
    std::string runs = "{\"rle\":[";
    for (std::size_t i = 0; i < numbers.size();) {
        std::size_t end = i;
        std::string text;
        append_one(numbers[i], text);
        for (; end < numbers.size() && is_same(numbers[end], numbers[i]); ++end) {
            append_comma(list);
            list += text;
        }
        append_comma(runs);
        runs.append(text).append(",");
        append_one(static_cast<std::int64_t>(end - i), runs);
        i = end;
    }
    list += ']';
    runs += "]}";
    return runs.size() < list.size() ? runs : list;
}

}  // namespace

void append_page_text(std::string_view text, std::string& out) {
    std::string json;
    append_json_string(text, json);
    std::string_view rest = json;
    std::string_view escape;
    while (!rest.empty()) {
        const std::size_t length = escaped_length(rest, escape);
        if (length == 0)
            out += rest.front();
        else
            out += escape;
        rest.remove_prefix(length == 0 ? 1 : length);
    }
}

void append_page_number(double value, std::string& out) {
    constexpr int kDigits = 5;
    if (std::isnan(value))
        out += "\"NaN\"";
    else if (std::isinf(value))
        out += value < 0 ? "\"-Infinity\"" : "\"Infinity\"";
    else
        append_general(value, kDigits, out);
}

void append_name(std::string_view name, std::string& out) {
    append_comma(out);
    out.append("\"").append(name).append("\":");
}

void append_text_member(std::string_view name, std::string_view value, std::string& out) {
    append_name(name, out);
    append_page_text(value, out);
}

void append_some_text(std::string_view name, std::string_view value, std::string& out) {
    if (!value.empty()) append_text_member(name, value, out);
}

void append_count_member(std::string_view name, std::uint64_t value, std::string& out) {
    append_name(name, out);
    append_integer(value, out);
}

void append_texts_member(std::string_view name, const std::vector<std::string>& texts, std::string& out) {
    append_name(name, out);
    out += '[';
    for (const std::string& text : texts) {
        append_comma(out);
        append_page_text(text, out);
    }
    out += ']';
}

void append_column(const std::vector<std::int64_t>& numbers, std::string& out) {
    const std::string whole = list_text(numbers);
    const std::vector<std::int64_t> differences = deltas_of(numbers);
    const std::string deltas = "{\"delta\":" + list_text(differences) + "}";
    out += differences.size() == numbers.size() && deltas.size() < whole.size() ? deltas : whole;
}

void append_real_column(const std::vector<double>& numbers, std::string& out) {
    out += list_text(numbers);
}

}  // namespace aoti_dbg::cli
