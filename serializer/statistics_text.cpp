#include "serializer/statistics_text.hpp"

#include <bit>

#include "serializer/number_text.hpp"
#include "serializer/text_pen.hpp"

namespace aoti_dbg {
namespace {

std::uint64_t bits_of(const Number& number) {
    switch (number.kind) {
        case Number::Kind::signed_integer:
            return static_cast<std::uint64_t>(number.signed_integer);
        case Number::Kind::unsigned_integer:
            return number.unsigned_integer;
        case Number::Kind::floating:
            break;
    }
    return std::bit_cast<std::uint64_t>(number.floating);
}

bool is_narrow(DType dtype) {
    return part_dtype(dtype) != DType::float64;
}

/// A type narrower than float64 gets only the digits it needs.
ShortestDecimal decimal_of(DType dtype, const Number& number) {
    if (number.kind != Number::Kind::floating) return {};
    return is_narrow(dtype) ? shortest_decimal(static_cast<float>(number.floating))
                            : shortest_decimal(number.floating);
}

/// `end` is where the digits end, or null if they are unknown.
template <typename Float>
void finish_json(TextPen& pen, char* end, Float value) {
    if (end != nullptr) return pen.move_to(end);
    std::string text;
    append_json_number(value, text);
    pen.put(text);
}

void finish_general(TextPen& pen, char* end, double value) {
    if (end != nullptr) return pen.move_to(end);
    std::string text;
    append_general(value, 6, text);
    pen.put(text);
}

void put_json(TextPen& pen, const ShortestDecimal& decimal, double value) {
    finish_json(pen, write_shortest(decimal, pen.at()), value);
}

void put_json(TextPen& pen, const ShortestDecimal& decimal, DType dtype, const Number& number) {
    if (number.kind == Number::Kind::signed_integer) return pen.put(number.signed_integer);
    if (number.kind == Number::Kind::unsigned_integer) return pen.put(number.unsigned_integer);
    if (!is_narrow(dtype)) return put_json(pen, decimal, number.floating);
    finish_json(pen, write_shortest(decimal, pen.at()), static_cast<float>(number.floating));
}

void put_line(TextPen& pen, std::string_view name, const ShortestDecimal& decimal, double value) {
    pen.put(name);
    finish_general(pen, write_general(decimal, pen.at()), value);
    pen.put('\n');
}

/// Writes integers with all their digits, although PyTorch rounds them to six.
void put_line(TextPen& pen, std::string_view name, const ShortestDecimal& decimal, const Number& number) {
    pen.put(name);
    if (number.kind == Number::Kind::signed_integer) {
        pen.put(number.signed_integer);
    } else if (number.kind == Number::Kind::unsigned_integer) {
        pen.put(number.unsigned_integer);
    } else {
        const double value = number.floating;
        const bool is_exact = !decimal.is_float || static_cast<double>(static_cast<float>(value)) == value;
        finish_general(pen, is_exact ? write_general(decimal, pen.at()) : nullptr, value);
    }
    pen.put('\n');
}

bool has_moments(const TensorStatistics& statistics) {
    return wants(statistics.requested, Requested::printed | Requested::indices);
}

void put_index(TextPen& pen, std::string_view name, std::uint64_t index) {
    pen.put(name);
    if (index == kNoIndex) return pen.put("null");
    pen.put(index);
}

}  // namespace

bool StatisticsTexts::are_plain(const TensorStatistics& statistics) {
    const RealStatistics& real = statistics.real;
    return !is_complex(statistics.dtype) && real.nan == 0 && real.positive_infinity == 0 &&
           real.negative_infinity == 0;
}

StatisticsTexts::Key::Key(const TensorStatistics& statistics) {
    const RealStatistics& real = statistics.real;
    words[0] = static_cast<std::uint64_t>(statistics.dtype) << 16U |
               static_cast<std::uint64_t>(statistics.requested) << 8U |
               static_cast<std::uint64_t>(real.all.minimum.kind) << 4U |
               static_cast<std::uint64_t>(real.all.maximum.kind) << 2U | (statistics.count == 0 ? 2U : 0U) |
               1U;  // an unused entry has 0
    words[1] = std::bit_cast<std::uint64_t>(real.all.mean);
    words[2] = std::bit_cast<std::uint64_t>(real.all.standard_deviation);
    words[3] = bits_of(real.all.minimum);
    words[4] = bits_of(real.all.maximum);
    words[5] = real.zeros;
    words[6] = real.sum_low;
    words[7] = static_cast<std::uint64_t>(real.sum_high);
    words[8] = real.minimum_index;
    words[9] = real.maximum_index;
    words[10] = statistics.hash;
}

std::size_t StatisticsTexts::Key::place() const {
    constexpr std::uint64_t kFactor = 0x9E3779B97F4A7C15U;
    std::uint64_t mixed = words[0];
    for (const std::size_t i : {1U, 2U, 3U, 4U})
        mixed = (std::rotl(mixed, 23) ^ words[i]) * kFactor;
    return mixed >> (64U - kKeptBits);
}

StatisticsTexts::Entry& StatisticsTexts::entry_of(const TensorStatistics& statistics) {
    if (entries_.empty()) entries_.resize(kKept);
    const Key key(statistics);
    Entry& entry = entries_[key.place()];
    if (entry.key == key) return entry;
    const Moments& all = statistics.real.all;
    entry.key = key;
    entry.mean = shortest_decimal(all.mean);
    entry.deviation = shortest_decimal(all.standard_deviation);
    entry.minimum = decimal_of(statistics.dtype, all.minimum);
    entry.maximum = decimal_of(statistics.dtype, all.maximum);
    entry.lines_size = entry.members_size = 0;
    entry.has_lines = entry.has_members = false;
    return entry;
}

void StatisticsTexts::write_lines(const TensorStatistics& statistics, Entry& entry) {
    const Moments& all = statistics.real.all;
    TextPen pen(entry.lines);
    if (statistics.count != 0 && has_moments(statistics)) {
        put_line(pen, "Mean value: ", entry.mean, all.mean);
        put_line(pen, "Min value: ", entry.minimum, all.minimum);
        put_line(pen, "Max value: ", entry.maximum, all.maximum);
        put_line(pen, "Std value: ", entry.deviation, all.standard_deviation);
    }
    entry.lines_size = static_cast<std::uint16_t>(pen.at() - entry.lines);
    entry.has_lines = true;
}

void StatisticsTexts::write_members(const TensorStatistics& statistics, Entry& entry) {
    const RealStatistics& real = statistics.real;
    TextPen pen(entry.members);
    if (has_moments(statistics)) {
        pen.put(R"(,"mean":)");
        put_json(pen, entry.mean, real.all.mean);
        pen.put(R"(,"min":)");
        put_json(pen, entry.minimum, statistics.dtype, real.all.minimum);
        pen.put(R"(,"max":)");
        put_json(pen, entry.maximum, statistics.dtype, real.all.maximum);
        pen.put(R"(,"std":)");
        put_json(pen, entry.deviation, real.all.standard_deviation);
    }
    if (has_moments(statistics) && is_integer(statistics.dtype)) {
        std::string sum;
        append_integer(real.sum_high, real.sum_low, sum);
        pen.put(R"(,"sum":)");
        pen.put(sum);
    }
    if (real.zeros != 0) pen.put_member(R"(,"zeros":)", real.zeros);
    if (wants(statistics.requested, Requested::indices)) {
        put_index(pen, R"(,"min_at":)", real.minimum_index);
        put_index(pen, R"(,"max_at":)", real.maximum_index);
    }
    if (wants(statistics.requested, Requested::hash)) {
        pen.put(R"(,"hash":")");
        pen.put_hex(statistics.hash);
        pen.put('"');
    }
    entry.members_size = static_cast<std::uint16_t>(pen.at() - entry.members);
    entry.has_members = true;
}

std::string_view StatisticsTexts::lines(const TensorStatistics& statistics) {
    Entry& entry = entry_of(statistics);
    if (!entry.has_lines) write_lines(statistics, entry);
    return {entry.lines, entry.lines_size};
}

std::string_view StatisticsTexts::members(const TensorStatistics& statistics) {
    Entry& entry = entry_of(statistics);
    if (!entry.has_members) write_members(statistics, entry);
    return {entry.members, entry.members_size};
}

}  // namespace aoti_dbg
