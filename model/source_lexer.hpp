// Splits C++ source into words, strings and single characters, and skips comments. It does just enough to
// find declarations and calls in Inductor's output. It accepts any bytes and neither recurses nor allocates.
// Every call of next() advances. It is not a compiler: it knows no preprocessing and no types.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace aoti_dbg {

struct Token {
    enum class Kind {
        end,
        word,        // identifier or keyword
        number,      // preprocessor number: 1'000, 0x1p-3, 4L
        string,      // text between the quotes, with escapes unchanged
        raw_string,  // text between the brackets
        character,   // one character of punctuation
        comment,     // text between its marks, only on request
    };
    Kind kind = Kind::end;
    std::string_view text;

    [[nodiscard]] bool is_word(std::string_view word) const { return kind == Kind::word && text == word; }
    [[nodiscard]] bool is(char c) const { return kind == Kind::character && text.front() == c; }
    [[nodiscard]] bool is_string() const { return kind == Kind::string || kind == Kind::raw_string; }
};

class SourceLexer {
  public:
    enum class Comments { skip, keep };

    /// `source` must outlive the lexer and its tokens.
    explicit SourceLexer(std::string_view source, Comments comments = Comments::skip)
        : source_(source), keeps_comments_(comments == Comments::keep) {}

    /// Returns the next token, and Kind::end forever after the last one. An unterminated token ends with the
    /// source.
    Token next();

    /// The range of the last token in the source, with its quotes and marks.
    [[nodiscard]] std::size_t begin() const { return begin_; }
    [[nodiscard]] std::size_t end() const { return position_; }

  private:
    void skip_blanks();
    [[nodiscard]] bool at_comment() const { return at(0) == '/' && (at(1) == '/' || at(1) == '*'); }
    Token comment();
    Token quoted(char quote);
    Token raw_string();
    [[nodiscard]] char at(std::size_t ahead) const {
        return position_ + ahead < source_.size() ? source_[position_ + ahead] : '\0';
    }

    std::string_view source_;
    std::size_t position_ = 0;
    std::size_t begin_ = 0;
    bool keeps_comments_;
};

/// Returns the text of a string token with the usual escapes (\n \t \\ \" ...) decoded.
std::string string_value(const Token& token);

}  // namespace aoti_dbg
