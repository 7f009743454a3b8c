// Reads single fields of an events.jsonl line from their JSON. A missing or invalid field leaves its target
// unchanged, because newer versions may omit fields and the file may hold any bytes.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "serializer/json_line.hpp"
#include "serializer/measured_event.hpp"

namespace aoti_dbg {

/// Returns false if it is not a number of that type.
template <typename Integer>
bool read_integer(JsonLine::Value value, Integer& to) {
    const std::string_view text = value.text();
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
