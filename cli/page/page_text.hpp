// Pieces of a page's JSON. Everything that came from a recording is untrusted: a text cannot end the script
// element that holds the JSON, because it has no `<`, `>` or `&`.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace aoti_dbg::cli {

/// Appends a JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD.
void append_page_text(std::string_view text, std::string& out);

/// Appends five significant digits, or a string for a number that is not finite.
void append_page_number(double value, std::string& out);

/// Appends the name of a member, after a comma if it is not the first.
void append_name(std::string_view name, std::string& out);

void append_text_member(std::string_view name, std::string_view value, std::string& out);
/// Appends nothing if the text is empty.
void append_some_text(std::string_view name, std::string_view value, std::string& out);
void append_count_member(std::string_view name, std::uint64_t value, std::string& out);
void append_texts_member(std::string_view name, const std::vector<std::string>& texts, std::string& out);

/// Appends numbers in the shortest form that the page reads: a list, {"rle":[value,count,...]}, or
/// {"delta":...} of either.
void append_column(const std::vector<std::int64_t>& numbers, std::string& out);
/// A NaN that no computation has, which stands for an unknown number.
inline constexpr std::uint64_t kUnknownBits = 0x7ff8'0000'0000'0bad;
inline constexpr double kUnknown = std::bit_cast<double>(kUnknownBits);

/// Appends numbers with five significant digits, as a list or as {"rle":[value,count,...]}. kUnknown becomes
/// null.
void append_real_column(const std::vector<double>& numbers, std::string& out);

/// Unknown numbers are -1 on the page.
inline std::int64_t number_or_none(std::uint32_t number) {
    return number == ~std::uint32_t{0} ? -1 : std::int64_t{number};
}

/// Appends the comma between the elements of a list.
inline void append_comma(std::string& out) {
    if (out.back() != '[' && out.back() != '{') out += ',';
}

}  // namespace aoti_dbg::cli
