// Cuts generated C++ into statements and blocks, and statements into calls and arguments. Not a compiler: no
// preprocessing, no types, no recursion; each token is looked at a bounded number of times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "model/source_lexer.hpp"

namespace aoti_dbg {

/// Tokens [first, last) of a statement.
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
    /// The token, or an end token past the last.
    [[nodiscard]] const Token& operator[](std::size_t at) const;
    /// The bracket that closes the one at `at`; size() if none does, or if there is no bracket.
    [[nodiscard]] std::size_t closing(std::size_t at) const;
    [[nodiscard]] std::string_view text(TokenRange range) const;
    /// What stands between the commas from after the bracket at `open` to the one that closes it. Appends to
    /// `parts`; commas within < > count only where no template list can be meant.
    void split(std::size_t open, std::vector<TokenRange>& parts) const;
    /// The first token `character` in `range` that lies in no bracket, or range.last.
    [[nodiscard]] std::size_t find(char character, TokenRange range) const;

    [[nodiscard]] End end() const { return end_; }
    [[nodiscard]] std::uint32_t line() const { return line_; }
    [[nodiscard]] bool is_cut() const { return is_cut_; }
    /// The comments since the statement before, this one's own included.
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
    /// Reads on from where `lexer` stands, which keeps comments and reads `source`, of less than 4 GiB.
    StatementReader(std::string_view source, SourceLexer& lexer) : source_(source), lexer_(lexer) {}

    /// The next statement; `statement`'s memory is used again. At the end of the source it is empty and ends
    /// with source_ends for ever.
    void next(Statement& statement);

    [[nodiscard]] std::uint64_t steps() const { return steps_; }

  private:
    void add(Statement& statement, const Token& token);
    [[nodiscard]] bool opens_block(const Statement& statement) const;
    void count_lines(std::size_t until);

    std::string_view source_;
    SourceLexer& lexer_;
    std::vector<std::uint32_t> open_;  // brackets of the statement in hand
    bool names_a_scope_ = false;
    bool assigns_ = false;
    std::size_t open_beyond_ = 0;  // more of them, in the part that was cut off
    std::size_t counted_ = 0;      // lines up to here
    std::uint32_t line_ = 1;
    std::uint64_t steps_ = 0;
};

}  // namespace aoti_dbg
