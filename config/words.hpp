// Handles words as people type them: case, blanks, lists and typos. Quotes them safely in messages. Must not
// know any option.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace aoti_dbg {

/// Changes ASCII letters only, whatever the locale.
std::string lower_case(std::string_view text);
bool equal_ignoring_case(std::string_view one, std::string_view other);

/// Removes blanks at both ends.
std::string_view trimmed(std::string_view text);

enum class Commas { all, outside_brackets };

/// Splits at commas, trims the pieces and drops empty ones. With `outside_brackets`, commas inside balanced
/// <> or () do not separate. The pieces point into `text`.
std::vector<std::string_view> split_list(std::string_view text, Commas commas);

/// Returns the word that the user may have meant, or empty if none is near.
std::string_view nearest_word(std::string_view text, const std::vector<std::string_view>& words);

/// Returns `text` on one line. Escapes control characters and bytes that are not UTF-8. Replaces what exceeds
/// `most` bytes by "...".
std::string printable(std::string_view text, std::size_t most);

/// Returns at most 80 bytes of the printable text in double quotes.
std::string quoted(std::string_view text);

}  // namespace aoti_dbg
