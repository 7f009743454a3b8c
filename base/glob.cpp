// Matches with one position in the pattern and one in the text. After a mismatch the last star takes one more
// character. Must not allocate or recurse: names come from foreign binaries and patterns from any source.
#include "base/glob.hpp"

#include <cstddef>

namespace aoti_dbg {
namespace {

constexpr std::size_t kNone = std::string_view::npos;

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

char upper(char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
}

bool is_between(char first, char c, char last) {
    const auto code = [](char one) { return static_cast<unsigned char>(one); };
    return code(first) <= code(c) && code(c) <= code(last);
}

/// `members` is the text between the brackets, without the `!`.
bool set_holds(std::string_view members, char c) {
    std::size_t i = 0;
    while (i < members.size()) {
        const bool is_range = i + 2 < members.size() && members[i + 1] == '-';
        const char first = members[i];
        const char last = is_range ? members[i + 2] : first;
        if (is_between(first, lower(c), last) || is_between(first, upper(c), last)) return true;
        i += is_range ? 3 : 1;
    }
    return false;
}

class Pattern {
  public:
    explicit Pattern(std::string_view text) : text_(text), last_close_(text.rfind(']')) {}

    [[nodiscard]] bool is_star(std::size_t at) const { return at < text_.size() && text_[at] == '*'; }
    [[nodiscard]] bool is_end(std::size_t at) const { return at == text_.size(); }

    /// Returns where the pattern continues if the element at `at` accepts `c`, else kNone.
    [[nodiscard]] std::size_t after(std::size_t at, char c) const {
        if (is_end(at)) return kNone;
        if (text_[at] == '?') return at + 1;
        if (text_[at] == '[') {
            const bool excludes = at + 1 < text_.size() && text_[at + 1] == '!';
            const std::size_t members = at + (excludes ? 2 : 1);
            const std::size_t close = close_of_set(members);
            if (close != kNone) {
                const bool holds = set_holds(text_.substr(members, close - members), c);
                return holds != excludes ? close + 1 : kNone;
            }
        }
        return lower(text_[at]) == lower(c) ? at + 1 : kNone;
    }

  private:
    /// A `]` as the first member is part of the set. The position of the last `]` is known, so a pattern of
    /// only `[` does not cause repeated searches to its end.
    [[nodiscard]] std::size_t close_of_set(std::size_t members) const {
        if (last_close_ == kNone || members + 1 > last_close_) return kNone;
        return text_.find(']', members + 1);
    }

    std::string_view text_;
    std::size_t last_close_;
};

}  // namespace

bool glob_matches(std::string_view pattern_text, std::string_view text) {
    const Pattern pattern(pattern_text);
    std::size_t in_pattern = 0;
    std::size_t in_text = 0;
    std::size_t behind_star = kNone;
    std::size_t star_took = 0;  // end of the text that the last star covers so far
    while (in_text < text.size()) {
        if (pattern.is_star(in_pattern)) {
            behind_star = ++in_pattern;
            star_took = in_text;
            continue;
        }
        const std::size_t next = pattern.after(in_pattern, text[in_text]);
        if (next != kNone) {
            in_pattern = next;
            ++in_text;
        } else if (behind_star != kNone) {
            in_pattern = behind_star;
            in_text = ++star_took;
        } else {
            return false;
        }
    }
    while (pattern.is_star(in_pattern))
        ++in_pattern;
    return pattern.is_end(in_pattern);
}

}  // namespace aoti_dbg
