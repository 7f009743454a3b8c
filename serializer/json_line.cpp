#include "serializer/json_line.hpp"

namespace aoti_dbg {
namespace {

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/// Returns the number of digits at the start of `text`.
std::size_t digits_of(std::string_view text) {
    std::size_t count = 0;
    while (count < text.size() && is_digit(text[count]))
        ++count;
    return count;
}

void append_character(std::uint32_t code, std::string& out) {
    const auto add = [&out](std::uint32_t byte) { out += static_cast<char>(byte); };
    if (code < 0x80) return add(code);
    if (code < 0x800) {
        add(0xC0U | (code >> 6U));
    } else {
        if (code < 0x10000) {
            add(0xE0U | (code >> 12U));
        } else {
            add(0xF0U | (code >> 18U));
            add(0x80U | ((code >> 12U) & 0x3FU));
        }
        add(0x80U | ((code >> 6U) & 0x3FU));
    }
    add(0x80U | (code & 0x3FU));
}

}  // namespace

JsonLine::Value JsonLine::Value::member(std::string_view name) const {
    if (!is(Kind::object)) return {};
    const std::uint32_t tag = tag_of(name);
    const Node* const nodes = line_->nodes_.data();
    const std::uint32_t end = nodes[at_].end;
    for (std::uint32_t at = at_ + 1; at < end; at = nodes[at].end) {
        if (nodes[at].tag == tag && nodes[at].key == name) return {line_, at, end};
    }
    return {};
}

JsonLine::Value JsonLine::Value::first() const {
    if (!is(Kind::object) && !is(Kind::array)) return {};
    return node().end == at_ + 1 ? Value() : Value(line_, at_ + 1, node().end);
}

JsonLine::Value JsonLine::Value::next() const {
    if (line_ == nullptr || node().end >= end_) return {};
    return {line_, node().end, end_};
}

bool JsonLine::parse(std::string_view line) {
    rest_ = line;
    nodes_.clear();
    unescaped_.clear();
    // No escape is shorter than the text it encodes.
    unescaped_.reserve(line.size());
    const bool whole = take_value({}, 0);
    skip_blanks();
    if (whole && rest_.empty()) return true;
    nodes_.clear();
    return false;
}

void JsonLine::skip_blanks() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\t' || rest_.front() == '\r'))
        rest_.remove_prefix(1);
}

bool JsonLine::take(char character) {
    if (rest_.empty() || rest_.front() != character) return false;
    rest_.remove_prefix(1);
    return true;
}

bool JsonLine::take_word(std::string_view word, Kind kind) {
    if (rest_.substr(0, word.size()) != word) return false;
    nodes_.back().kind = kind;
    nodes_.back().text = rest_.substr(0, word.size());
    rest_.remove_prefix(word.size());
    return true;
}

bool JsonLine::take_number() {
    const std::string_view start = rest_;
    take('-');
    const std::size_t whole = digits_of(rest_);
    if (whole == 0) return false;
    rest_.remove_prefix(whole);
    if (take('.')) {
        const std::size_t fraction = digits_of(rest_);
        if (fraction == 0) return false;
        rest_.remove_prefix(fraction);
    }
    if (take('e') || take('E')) {
        if (!take('-')) take('+');
        const std::size_t exponent = digits_of(rest_);
        if (exponent == 0) return false;
        rest_.remove_prefix(exponent);
    }
    nodes_.back().kind = Kind::number;
    nodes_.back().text = start.substr(0, start.size() - rest_.size());
    return true;
}

bool JsonLine::take_hex(std::uint32_t& code) {
    if (rest_.size() < 4) return false;
    code = 0;
    for (std::size_t i = 0; i < 4; ++i) {
        const char c = rest_[i];
        const char low = static_cast<char>(c | 0x20);
        if (!is_digit(c) && (low < 'a' || low > 'f')) return false;
        code = code << 4U | static_cast<std::uint32_t>(is_digit(c) ? c - '0' : low - 'a' + 10);
    }
    rest_.remove_prefix(4);
    return true;
}

/// Continues after the backslash.
bool JsonLine::take_escape() {
    if (rest_.empty()) return false;
    const char kind = rest_.front();
    rest_.remove_prefix(1);
    constexpr std::string_view kNames = "\"\\/bfnrt";
    if (const std::size_t found = kNames.find(kind); found != std::string_view::npos) {
        unescaped_ += "\"\\/\b\f\n\r\t"[found];
        return true;
    }
    std::uint32_t code = 0;
    if (kind != 'u' || !take_hex(code)) return false;
    if (code >= 0xD800 && code < 0xE000) {
        std::uint32_t low = 0;
        if (code >= 0xDC00 || !take('\\') || !take('u') || !take_hex(low)) return false;
        if (low < 0xDC00 || low > 0xDFFF) return false;
        code = 0x10000 + ((code - 0xD800) << 10U) + (low - 0xDC00);
    }
    append_character(code, unescaped_);
    return true;
}

/// Continues after the opening quote.
bool JsonLine::take_string(std::string_view& text) {
    const auto plain_part = [this] {
        std::size_t length = 0;
        while (length < rest_.size() && rest_[length] != '"' && rest_[length] != '\\' &&
               static_cast<unsigned char>(rest_[length]) >= 0x20)
            ++length;
        const std::string_view part = rest_.substr(0, length);
        rest_.remove_prefix(length);
        return part;
    };
    text = plain_part();
    if (take('"')) return true;
    const std::size_t start = unescaped_.size();
    unescaped_ += text;
    while (!take('"')) {
        if (!take('\\') || !take_escape()) return false;
        unescaped_ += plain_part();
    }
    text = std::string_view(unescaped_).substr(start);
    return true;
}

/// Continues after the opening bracket.
bool JsonLine::take_values(Kind kind, std::size_t depth) {
    const char closing = kind == Kind::array ? ']' : '}';
    skip_blanks();
    if (take(closing)) return true;
    do {
        std::string_view key;
        skip_blanks();
        if (kind == Kind::object) {
            if (!take('"') || !take_string(key)) return false;
            skip_blanks();
            if (!take(':')) return false;
        }
        if (!take_value(key, depth + 1)) return false;
        skip_blanks();
    } while (take(','));
    return take(closing);
}

bool JsonLine::take_value(std::string_view key, std::size_t depth) {
    if (depth > kDeepest || nodes_.size() == kMostValues) return false;
    const std::size_t at = nodes_.size();
    Node& node = nodes_.emplace_back();
    node.key = key;
    node.tag = tag_of(key);
    skip_blanks();
    bool taken = false;
    if (take('"')) {
        nodes_[at].kind = Kind::string;
        taken = take_string(nodes_[at].text);
    } else if (take('{')) {
        nodes_[at].kind = Kind::object;
        taken = take_values(Kind::object, depth);
    } else if (take('[')) {
        nodes_[at].kind = Kind::array;
        taken = take_values(Kind::array, depth);
    } else if (!rest_.empty() && (rest_.front() == '-' || is_digit(rest_.front()))) {
        taken = take_number();
    } else {
        taken = take_word("null", Kind::null) || take_word("true", Kind::boolean) ||
                take_word("false", Kind::boolean);
    }
    nodes_[at].end = static_cast<std::uint32_t>(nodes_.size());
    return taken;
}

}  // namespace aoti_dbg
