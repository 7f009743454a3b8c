// Single elements of a tensor, given as bytes, by their dtype: what they are worth, and as JSON and back. Of
// a complex dtype one part at a time: part_dtype() says its own.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "stats_kernels/tensor_view.hpp"

namespace aoti_dbg {

/// As at::print sees it: integers beyond 2^53 are rounded. `dtype` is not complex.
double element_value(DType dtype, const std::byte* at);

/// Integers exactly, bool as true or false, the others as append_json_number().
void append_json_element(DType dtype, const std::byte* at, std::string& out);

/// A number, or the content of a string, or true or false, as append_json_element() writes it. False where
/// it is none of that dtype; then `to` is unchanged.
bool read_json_element(DType dtype, std::string_view text, std::byte* to);

}  // namespace aoti_dbg
