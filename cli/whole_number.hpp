// Parses numbers, in any locale.
#pragma once

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <system_error>

namespace aoti_dbg::cli {

/// Returns the decimal number that makes up all of `text`, or nothing if `Number` cannot hold it.
template <typename Number>
std::optional<Number> whole_number(std::string_view text) {
    Number number = 0;
    const char* const end = text.data() + text.size();
    const std::from_chars_result read = std::from_chars(text.data(), end, number);
    return read.ec == std::errc() && read.ptr == end ? std::optional(number) : std::nullopt;
}

/// Returns the number that makes up all of `text`, or nothing if it is negative, NaN or infinite.
inline std::optional<double> tolerance_of(std::string_view text) {
    double number = 0;
    const char* const end = text.data() + text.size();
    const std::from_chars_result read = std::from_chars(text.data(), end, number);
    const bool is_number = read.ec == std::errc() && read.ptr == end && std::isfinite(number) && number >= 0;
    return is_number ? std::optional(number) : std::nullopt;
}

}  // namespace aoti_dbg::cli
