// Classifies characters itself, because the <cctype> functions depend on the locale of the host process.

#include "model/source_lexer.hpp"

#include <algorithm>

namespace aoti_dbg {
namespace {

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

bool is_word_start(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$' ||
           static_cast<unsigned char>(c) >= 0x80;  // UTF-8 in identifiers
}

bool is_word_part(char c) {
    return is_word_start(c) || is_digit(c);
}

bool is_blank(char c) {
    return c == ' ' || (c >= '\t' && c <= '\r');
}

/// The longest delimiter that the language allows between R" and (.
constexpr std::size_t kLongestDelimiter = 16;

}  // namespace

void SourceLexer::skip_blanks() {
    while (position_ < source_.size() &&
           (is_blank(source_[position_]) || (at(0) == '\\' && (at(1) == '\n' || at(1) == '\r')))) {
        ++position_;
    }
}

Token SourceLexer::comment() {
    const std::size_t start = position_ + 2;
    if (at(1) == '*') {
        const std::size_t close = source_.find("*/", start);
        position_ = close == std::string_view::npos ? source_.size() : close + 2;
        return {Token::Kind::comment, source_.substr(start, std::min(close, source_.size()) - start)};
    }
    do {  // a backslash at the end of the line continues the comment
        position_ = std::min(source_.find('\n', position_ + 1), source_.size());
    } while (position_ < source_.size() &&
             (source_[position_ - 1] == '\\' ||
              (source_[position_ - 1] == '\r' && source_[position_ - 2] == '\\')));
    return {Token::Kind::comment, source_.substr(start, position_ - start)};
}

Token SourceLexer::next() {
    for (;;) {
        skip_blanks();
        begin_ = position_;
        if (!at_comment()) break;
        const Token token = comment();
        if (keeps_comments_) return token;
    }
    if (position_ >= source_.size()) return {};
    const std::size_t start = position_;
    const char first = source_[start];
    if (is_digit(first) || (first == '.' && is_digit(at(1)))) {
        while (is_word_part(at(0)) || at(0) == '.' || (at(0) == '\'' && is_word_part(at(1)))) {
            ++position_;
        }
        return {Token::Kind::number, source_.substr(start, position_ - start)};
    }
    if (is_word_start(first)) {
        while (is_word_part(at(0))) {
            ++position_;
        }
        const std::string_view word = source_.substr(start, position_ - start);
        if (at(0) == '"' && (word == "R" || word == "u8R" || word == "uR" || word == "UR" || word == "LR")) {
            return raw_string();
        }
        return {Token::Kind::word, word};
    }
    if (first == '"' || first == '\'') return quoted(first);
    ++position_;
    return {Token::Kind::character, source_.substr(start, 1)};
}

Token SourceLexer::quoted(char quote) {
    const std::size_t start = ++position_;
    // A literal cannot contain a line break. An unterminated one (an apostrophe in an #error line) ends
    // there.
    while (position_ < source_.size() && source_[position_] != quote && source_[position_] != '\n') {
        position_ += source_[position_] == '\\' ? 2 : 1;
    }
    position_ = std::min(position_, source_.size());
    const std::string_view text = source_.substr(start, position_ - start);
    if (at(0) == quote) ++position_;
    return {quote == '"' ? Token::Kind::string : Token::Kind::number, text};
}

Token SourceLexer::raw_string() {
    const std::size_t delimiter = position_ + 1;
    // Search only as far as a delimiter may reach. Otherwise a text full of R" would be searched to its end
    // each time.
    const std::size_t length_of_delimiter = source_.substr(delimiter, kLongestDelimiter + 1).find('(');
    if (length_of_delimiter == std::string_view::npos) return quoted('"');
    const std::size_t open = delimiter + length_of_delimiter;
    char closing[kLongestDelimiter + 2] = {')'};
    const std::size_t length = source_.copy(closing + 1, open - delimiter, delimiter);
    closing[length + 1] = '"';
    const std::size_t close = source_.find(std::string_view(closing, length + 2), open + 1);
    const std::size_t end = std::min(close, source_.size());
    position_ = std::min(end + length + 2, source_.size());
    return {Token::Kind::raw_string, source_.substr(open + 1, end - open - 1)};
}

std::string string_value(const Token& token) {
    std::string value;
    value.reserve(token.text.size());
    for (std::size_t i = 0; i < token.text.size(); ++i) {
        char c = token.text[i];
        if (c == '\\' && token.kind == Token::Kind::string && i + 1 < token.text.size()) {
            c = token.text[++i];
            if (c == 'n') c = '\n';
            if (c == 't') c = '\t';
            if (c == 'r') c = '\r';
        }
        value.push_back(c);
    }
    return value;
}

}  // namespace aoti_dbg
