// Small readers for the text files of /proc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace aoti_dbg {

/// All of it; what could not be read is missing.
std::string proc_text(const std::string& path);

/// Up to `end`, which goes as well.
std::string_view taken(std::string_view& text, char end);

/// All of `text`, with or without 0x.
bool hexadecimal(std::string_view text, std::uint64_t& number);

}  // namespace aoti_dbg
