// Names and strings of models made harmless: a terminal obeys control characters, and JSON must be UTF-8.
// Nothing else is changed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace aoti_dbg {

/// What stands for a byte that is no part of any character: U+FFFD.
inline constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

/// Bytes of the character that `text` begins with, 0 where that is not UTF-8. `text` is not empty.
std::size_t character_length(std::string_view text);

/// Of UTF-8.
std::size_t characters_in(std::string_view text);

/// `text` with `?` for each control character, and kReplacement for each byte that is not UTF-8.
void append_clean(std::string_view text, std::string& out);

/// No more than `most` characters of clean text: of a longer one the middle goes, and `..` stands for it.
/// Returns how many characters there are.
std::size_t append_shortened(std::string_view text, std::size_t most, std::string& out);

}  // namespace aoti_dbg
