// Small readers for the text files of /proc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace aoti_dbg {

/// Returns the whole file, up to the first failed read. Stops when it has `most` bytes or more.
std::string proc_text(const std::string& path, std::size_t most = SIZE_MAX);

/// Removes the text up to and including `end`, and returns it without `end`.
std::string_view taken(std::string_view& text, char end);

/// Parses all of `text`, with or without 0x. Returns false if any of it is no digit.
bool hexadecimal(std::string_view text, std::uint64_t& number);

}  // namespace aoti_dbg
