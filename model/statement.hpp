// Splits generated C++ into statements and blocks, and statements into calls and arguments. Not a compiler:
// it knows no preprocessing, types or recursion. It visits each token a bounded number of times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "model/source_lexer.hpp"

namespace aoti_dbg {

/// The tokens [first, last) of a statement.
struct TokenRange {
    std::size_t first = 0;
    std::size_t last = 0;
    [[nodiscard]] bool empty() const { return first >= last; }
    [[nodiscard]] std::size_t size() const { return empty() ? 0 : last - first; }
};

class Statement {
  public:
    enum class End { semicolon, block_opens, block_closes, source_ends };

    [[nodiscard]] std::size_t size() const { return tokens_.size(); }
    [[nodiscard]] bool empty() const { return tokens_.empty(); }
    [[nodiscard]] TokenRange all() const { return {0, size()}; }
    /// Returns the token, or an end token past the last.
    [[nodiscard]] const Token& operator[](std::size_t at) const;
    /// Returns the bracket that closes the one at `at`, or size() if there is none.
    [[nodiscard]] std::size_t closing(std::size_t at) const;
    [[nodiscard]] std::string_view text(TokenRange range) const;
    /// Appends the comma-separated parts between the bracket at `open` and its partner to `parts`. Commas
    /// within < > count only if they cannot belong to a template list.
    void split(std::size_t open, std::vector<TokenRange>& parts) const;
    /// Returns the first token `character` in `range` outside of brackets, or range.last.
    [[nodiscard]] std::size_t find(char character, TokenRange range) const;

    [[nodiscard]] End end() const { return end_; }
    [[nodiscard]] std::uint32_t line() const { return line_; }
    [[nodiscard]] bool is_cut() const { return is_cut_; }
    /// The comments since the previous statement, including this one's own.
    [[nodiscard]] const std::vector<std::string_view>& comments() const { return comments_; }

  private:
    friend class StatementReader;

    struct Place {
        std::uint32_t begin;
        std::uint32_t end;
        std::uint32_t closing;
    };
    std::string_view source_;
    std::vector<Token> tokens_;
    std::vector<Place> places_;
    std::vector<std::string_view> comments_;
    End end_ = End::source_ends;
    std::uint32_t line_ = 0;
    bool is_cut_ = false;
};

class StatementReader {
  public:
    /// Continues at the position of `lexer`, which must keep comments and read `source`. `source` must have
    /// less than 4 GiB.
    StatementReader(std::string_view source, SourceLexer& lexer) : source_(source), lexer_(lexer) {}

    /// Reads the next statement into `statement` and reuses its memory. At the end of the source it is empty
    /// and ends with source_ends, forever.
    void next(Statement& statement);

    [[nodiscard]] std::uint64_t steps() const { return steps_; }

  private:
    void add(Statement& statement, const Token& token);
    [[nodiscard]] bool opens_block(const Statement& statement) const;
    void count_lines(std::size_t until);

    std::string_view source_;
    SourceLexer& lexer_;
    std::vector<std::uint32_t> open_;  // brackets of the current statement
    bool names_a_scope_ = false;
    bool assigns_ = false;
    std::size_t open_beyond_ = 0;  // brackets in the part that was cut off
    std::size_t counted_ = 0;      // position up to which lines are counted
    std::uint32_t line_ = 1;
    std::uint64_t steps_ = 0;
};

}  // namespace aoti_dbg
