// Makes names and strings from models safe to print: terminals obey control characters, and JSON requires
// UTF-8. It must change nothing else.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace aoti_dbg {

/// U+FFFD, which replaces a byte that is not part of any character.
inline constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

/// Returns the length in bytes of the first character of `text`, or 0 if it is not UTF-8. `text` must not be
/// empty.
std::size_t character_length(std::string_view text);

/// Returns the number of UTF-8 characters.
std::size_t characters_in(std::string_view text);

/// True for ASCII control characters and for U+0080 to U+009F, which some terminals obey too.
bool is_control(std::string_view character);

/// Appends `text` with `?` for each control character and kReplacement for each byte that is not UTF-8.
void append_clean(std::string_view text, std::string& out);

std::string clean_text(std::string_view text);

/// Appends at most `most` characters of clean text, and replaces the middle of a longer one with `..`.
/// Returns the number of characters appended.
std::size_t append_shortened(std::string_view text, std::size_t most, std::string& out);

}  // namespace aoti_dbg
