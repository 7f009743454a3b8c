// Converts single tensor elements between bytes, numbers and JSON, by dtype. A complex element is converted
// one part at a time, with part_dtype() as its dtype. A packed element is converted one number at a time, in
// a byte of its own (packed_number()).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "stats_kernels/tensor_view.hpp"

namespace aoti_dbg {

/// Returns one of the two numbers of a packed element, the low one first.
constexpr std::byte packed_number(std::byte element, std::size_t number) {
    return element >> (number * 4) & std::byte{15};
}

/// The inverse of packed_number().
constexpr std::byte packed_element(std::byte low, std::byte high) {
    return low | high << 4;
}

/// Returns the value as at::print shows it, with integers beyond 2^53 rounded. `dtype` must not be complex.
double element_value(DType dtype, const std::byte* at);

/// Appends integers exactly, bool as true or false, and other values as append_json_number() does.
void append_json_element(DType dtype, const std::byte* at, std::string& out);

/// Reads what append_json_element() writes: a number, the contents of a string, true or false. Returns false
/// and leaves `to` unchanged if the text does not fit the dtype.
bool read_json_element(DType dtype, std::string_view text, std::byte* to);

}  // namespace aoti_dbg
