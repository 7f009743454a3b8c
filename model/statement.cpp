#include "model/statement.hpp"

#include <algorithm>

#include "model/reading_limits.hpp"

namespace aoti_dbg {
namespace {

/// The most comments of a statement. A site has two.
constexpr std::size_t kMaxComments = 256;

bool opens(const Token& token) {
    return token.is('(') || token.is('[') || token.is('{');
}

bool closes(const Token& token) {
    return token.is(')') || token.is(']') || token.is('}');
}

bool match(const Token& open, const Token& close) {
    return (open.is('(') && close.is(')')) || (open.is('[') && close.is(']')) ||
           (open.is('{') && close.is('}'));
}

/// Templates of the standard library with argument lists. Their commas do not separate arguments.
bool takes_template_list(const Token& token) {
    return token.is_word("array") || token.is_word("pair") || token.is_word("tuple") ||
           token.is_word("map") || token.is_word("unordered_map");
}

/// Returns whether the token may open a block without a closing bracket before it.
bool names_scope(const Token& token) {
    for (const char* const word : {"namespace", "class", "struct", "union", "enum", "extern"}) {
        if (token.is_word(word)) return true;
    }
    return false;
}

}  // namespace

const Token& Statement::operator[](std::size_t at) const {
    static constexpr Token kEnd;
    return at < tokens_.size() ? tokens_[at] : kEnd;
}

std::size_t Statement::closing(std::size_t at) const {
    return at < places_.size() ? std::min<std::size_t>(places_[at].closing, size()) : size();
}

std::string_view Statement::text(TokenRange range) const {
    if (range.empty() || range.first >= size()) return {};
    const std::size_t begin = places_[range.first].begin;
    return source_.substr(begin, places_[std::min(range.last, size()) - 1].end - begin);
}

void Statement::split(std::size_t open, std::vector<TokenRange>& parts) const {
    const std::size_t close = closing(open);
    std::size_t first = open + 1;
    std::size_t angle = 0;
    for (std::size_t at = first; at < close; ++at) {
        const Token& token = tokens_[at];
        if (opens(token)) {
            at = closing(at);
            if (at >= close) break;
        } else if (token.is('<') && (angle > 0 || takes_template_list(tokens_[at - 1]))) {
            ++angle;
        } else if (token.is('>') && angle > 0) {
            --angle;
        } else if (token.is(',') && angle == 0) {
            parts.push_back({first, at});
            first = at + 1;
        }
    }
    if (first < close) parts.push_back({first, close});
}

std::size_t Statement::find(char character, TokenRange range) const {
    for (std::size_t at = range.first; at < range.last; ++at) {
        if ((*this)[at].is(character)) return at;
        if (opens((*this)[at])) at = closing(at);
    }
    return range.last;
}

void StatementReader::count_lines(std::size_t until) {
    line_ += static_cast<std::uint32_t>(
        std::count(source_.data() + counted_, source_.data() + std::max(until, counted_), '\n'));
    counted_ = std::max(until, counted_);
}

bool StatementReader::opens_block(const Statement& statement) const {
    if (statement.empty() || (names_a_scope_ && !assigns_)) return true;
    const Token& last = statement.tokens_.back();
    return last.is(')') || last.is_word("else") || last.is_word("do") || last.is_word("try");
}

void StatementReader::add(Statement& statement, const Token& token) {
    if (statement.size() >= kMaxStatementTokens) {
        statement.is_cut_ = true;
        if (opens(token)) ++open_beyond_;
        if (closes(token) && open_beyond_ > 0) {
            --open_beyond_;
        } else if (closes(token) && !open_.empty()) {
            open_.pop_back();
        }
        return;
    }
    if (statement.empty()) {
        count_lines(lexer_.begin());
        statement.line_ = line_;
    }
    if (open_.empty()) {
        names_a_scope_ = names_a_scope_ || names_scope(token);
        assigns_ = assigns_ || token.is('=');
    }
    const auto at = static_cast<std::uint32_t>(statement.size());
    if (opens(token)) open_.push_back(at);
    if (closes(token) && !open_.empty() && match(statement.tokens_[open_.back()], token)) {
        statement.places_[open_.back()].closing = at;
        open_.pop_back();
    }
    statement.tokens_.push_back(token);
    statement.places_.push_back({static_cast<std::uint32_t>(lexer_.begin()),
                                 static_cast<std::uint32_t>(lexer_.end()), ~std::uint32_t{0}});
}

void StatementReader::next(Statement& statement) {
    statement.source_ = source_;
    statement.tokens_.clear();
    statement.places_.clear();
    statement.comments_.clear();
    statement.is_cut_ = false;
    open_.clear();
    open_beyond_ = 0;
    names_a_scope_ = false;
    assigns_ = false;
    for (;;) {
        const Token token = lexer_.next();
        ++steps_;
        if (token.kind == Token::Kind::end) {
            statement.end_ = Statement::End::source_ends;
            return;
        }
        if (token.kind == Token::Kind::comment) {
            if (statement.comments_.size() < kMaxComments) statement.comments_.push_back(token.text);
            continue;
        }
        if (open_.empty() && open_beyond_ == 0) {
            if (token.is(';')) {
                statement.end_ = Statement::End::semicolon;
                return;
            }
            if (token.is('}')) {
                statement.end_ = Statement::End::block_closes;
                return;
            }
            if (token.is('{') && opens_block(statement)) {
                statement.end_ = Statement::End::block_opens;
                return;
            }
        }
        add(statement, token);
    }
}

}  // namespace aoti_dbg
