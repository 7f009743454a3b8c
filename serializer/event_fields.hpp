// Single things of a line of events.jsonl, out of their JSON. What is missing or makes no sense leaves its
// place as it was: newer versions may leave out, and any bytes may come.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "serializer/json_line.hpp"
#include "serializer/measured_event.hpp"

namespace aoti_dbg {

/// False where it is no number of that type.
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

/// Empty where it is no string.
std::string string_of(JsonLine::Value value);

/// Of an argument's object; `tensor` says what they are of.
void read_statistics(JsonLine::Value object, const TensorFacts& tensor, TensorStatistics& statistics);

/// In logical order; nothing unless all of them are values of that dtype.
void read_values(JsonLine::Value list, DType dtype, std::vector<std::byte>& to);

/// From a definition, or from what a call's own line says.
void read_tensor(JsonLine::Value object, TensorFacts& facts);
void read_argument(JsonLine::Value object, ArgumentFacts& facts);
void read_site(JsonLine::Value object, SiteFacts& facts);

}  // namespace aoti_dbg
