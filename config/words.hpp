// Words as people type them: case, blanks, lists, slips of the finger, and how to repeat them to their
// author. Must not know any option.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace aoti_dbg {

/// ASCII only, whatever the locale.
std::string lower_case(std::string_view text);
bool equal_ignoring_case(std::string_view one, std::string_view other);

/// Without blanks at its ends.
std::string_view trimmed(std::string_view text);

enum class Commas { all, outside_brackets };

/// Splits at commas, trims the pieces and drops empty ones. With `outside_brackets` a comma inside <> or ()
/// does not separate, provided that the brackets are balanced. The pieces point into `text`.
std::vector<std::string_view> split_list(std::string_view text, Commas commas);

/// The word that somebody who typed `text` may have meant; empty when none is near.
std::string_view nearest_word(std::string_view text, const std::vector<std::string_view>& words);

/// On one line, whatever it holds: control characters and bytes that are not UTF-8 are escaped, and what goes
/// beyond `most` bytes is left out ("...").
std::string printable(std::string_view text, std::size_t most);

/// The same in double quotes, at most 80 bytes of it.
std::string quoted(std::string_view text);

}  // namespace aoti_dbg
