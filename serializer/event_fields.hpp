// Reads single fields of an events.jsonl line from their JSON. A missing or invalid field leaves its target
// unchanged, because newer versions may omit fields and the file may hold any bytes.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "serializer/json_line.hpp"
#include "serializer/measured_event.hpp"

namespace aoti_dbg {

/// Reads eight digits at once. Returns false if they are something else.
inline bool read_eight_digits(const char* text, std::uint64_t& to) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, text, sizeof bytes);
    constexpr std::uint64_t kOnes = 0x0101010101010101U;
    // A digit keeps its upper four bits if 6 is added, and no other byte with these bits does.
    if (((bytes & (bytes + 6 * kOnes)) & 0xF0 * kOnes) != 0x30 * kOnes) return false;
    bytes -= 0x30 * kOnes;
    // Each step makes one number of two. The first digit is in the lowest byte.
    bytes = (bytes * 10 + (bytes >> 8U)) & 0x00FF00FF00FF00FFU;
    bytes = (bytes * 100 + (bytes >> 16U)) & 0x0000FFFF0000FFFFU;
    to = (bytes * 10000 + (bytes >> 32U)) & 0xFFFFFFFFU;
    return true;
}

/// Reads digits alone, as most integers of a recording are. Returns false for anything else and for numbers
/// that may not fit. It takes a third of the instructions of std::from_chars, and lines have many integers.
inline bool read_short_digits(std::string_view text, std::uint64_t& to) {
    constexpr std::size_t kMostDigits = 19;
    if (text.empty() || text.size() > kMostDigits) return false;
    std::uint64_t number = 0;
    for (std::uint64_t eight = 0; text.size() >= 8; text.remove_prefix(8)) {
        if (!read_eight_digits(text.data(), eight)) return false;
        number = number * 100'000'000 + eight;
    }
    for (const char c : text) {
        const auto digit = static_cast<unsigned char>(c - '0');
        if (digit > 9) return false;
        number = number * 10 + digit;
    }
    to = number;
    return true;
}

/// Returns false if it is not a number of that type.
template <typename Integer>
bool read_integer(JsonLine::Value value, Integer& to) {
    const std::string_view text = value.text();
    if (std::uint64_t digits = 0; value.is(JsonLine::Kind::number) && read_short_digits(text, digits) &&
                                  digits <= std::uint64_t{std::numeric_limits<Integer>::max()}) {
        to = static_cast<Integer>(digits);
        return true;
    }
    Integer number = 0;
    const std::from_chars_result result = std::from_chars(text.data(), text.data() + text.size(), number);
    if (!value.is(JsonLine::Kind::number) || result.ec != std::errc()) return false;
    if (result.ptr != text.data() + text.size()) return false;
    to = number;
    return true;
}

/// "0x7f3a00000000"
void read_address(JsonLine::Value value, std::uint64_t& to);

/// Returns an empty text if it is not a string.
std::string string_of(JsonLine::Value value);

/// Reads the statistics of an argument's object; `tensor` describes the measured tensor.
void read_statistics(JsonLine::Value object, const TensorFacts& tensor, TensorStatistics& statistics);

/// Reads values in logical order. Reads nothing unless all of them are values of that dtype.
void read_values(JsonLine::Value list, DType dtype, std::vector<std::byte>& to);

/// Reads a definition, or the members in a call's own line.
void read_tensor(JsonLine::Value object, TensorFacts& facts);
void read_argument(JsonLine::Value object, ArgumentFacts& facts);
void read_site(JsonLine::Value object, SiteFacts& facts);

}  // namespace aoti_dbg
