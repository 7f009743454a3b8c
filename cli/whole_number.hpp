// Parses whole numbers, in any locale.
#pragma once

#include <charconv>
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

}  // namespace aoti_dbg::cli
