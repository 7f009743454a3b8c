// Edit distance, lists and escapes. Uses no libc function that depends on the locale, which must not change
// the meaning of an option.
#include "config/words.hpp"

#include <algorithm>
#include <array>

#include "base/clean_text.hpp"

namespace aoti_dbg {
namespace {

constexpr std::size_t kQuoted = 80;  // bytes of an invalid value that a complaint repeats

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Counts insertions, deletions, replacements and swaps of neighboring letters.
std::size_t edit_distance(std::string_view one, std::string_view other) {
    constexpr std::size_t kLongest = 32;
    if (one.size() > kLongest || other.size() > kLongest) return kLongest;
    std::array<std::array<std::size_t, kLongest + 1>, kLongest + 1> to{};  // for prefixes of both words
    for (std::size_t i = 0; i <= one.size(); ++i) {
        for (std::size_t j = 0; j <= other.size(); ++j) {
            if (i == 0 || j == 0) {
                to[i][j] = i + j;
                continue;
            }
            const std::size_t replaced = to[i - 1][j - 1] + (one[i - 1] == other[j - 1] ? 0 : 1);
            to[i][j] = std::min({to[i - 1][j] + 1, to[i][j - 1] + 1, replaced});
            if (i > 1 && j > 1 && one[i - 1] == other[j - 2] && one[i - 2] == other[j - 1])
                to[i][j] = std::min(to[i][j], to[i - 2][j - 2] + 1);
        }
    }
    return to[one.size()][other.size()];
}

std::string escaped(std::string_view bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    std::string text;
    for (const char c : bytes) {
        const auto code = static_cast<unsigned char>(c);
        if (c == '\n') {
            text += "\\n";
        } else if (c == '\t') {
            text += "\\t";
        } else if (c == '\r') {
            text += "\\r";
        } else {
            text += {'\\', 'x', kDigits[code >> 4U], kDigits[code & 15U]};
        }
    }
    return text;
}

}  // namespace

std::string lower_case(std::string_view text) {
    std::string result(text);
    std::transform(result.begin(), result.end(), result.begin(), lower);
    return result;
}

bool equal_ignoring_case(std::string_view one, std::string_view other) {
    return one.size() == other.size() && std::equal(one.begin(), one.end(), other.begin(),
                                                    [](char a, char b) { return lower(a) == lower(b); });
}

std::string_view trimmed(std::string_view text) {
    constexpr std::string_view kBlanks = " \t\r\n\v\f";
    const std::size_t first = text.find_first_not_of(kBlanks);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::vector<std::string_view> split_list(std::string_view text, Commas commas) {
    const bool nested = commas == Commas::outside_brackets;
    std::vector<std::string_view> pieces;
    std::size_t begin = 0;
    std::size_t depth = 0;
    for (std::size_t i = 0; i <= text.size(); ++i) {
        if (i < text.size()) {
            if (nested && (text[i] == '<' || text[i] == '(')) ++depth;
            if (nested && (text[i] == '>' || text[i] == ')') && depth > 0) --depth;
            if (text[i] != ',' || depth > 0) continue;
        }
        const std::string_view piece = trimmed(text.substr(begin, i - begin));
        if (!piece.empty()) pieces.push_back(piece);
        begin = i + 1;
    }
    if (depth > 0) return split_list(text, Commas::all);
    return pieces;
}

std::string_view nearest_word(std::string_view text, const std::vector<std::string_view>& words) {
    std::string_view best;
    std::size_t best_distance = 3;  // more than two typos make another word
    for (const std::string_view word : words) {
        const std::size_t distance = edit_distance(text, word);
        if (distance < best_distance && distance * 2 < word.size()) {  // so does half of the word
            best = word;
            best_distance = distance;
        }
    }
    return best;
}

std::string printable(std::string_view text, std::size_t most) {
    std::string result;
    std::size_t i = 0;
    while (i < text.size()) {
        const std::size_t length = character_length(text.substr(i));
        const std::string_view character = text.substr(i, std::max<std::size_t>(length, 1));
        if (i + character.size() > most) return result + "...";
        if (length == 0 || is_control(character)) {
            result += escaped(character);
        } else {
            result += character;
        }
        i += character.size();
    }
    return result;
}

std::string quoted(std::string_view text) {
    return "\"" + printable(text, kQuoted) + "\"";
}

}  // namespace aoti_dbg
