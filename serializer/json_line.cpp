#include "serializer/json_line.hpp"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace aoti_dbg {
namespace {

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/// Moves `at` past digits. Returns false if there is none.
inline bool skip_digits(const char*& at, const char* end) {
    const char* const start = at;
#ifdef __SSE2__
    // The length of a number is hard to predict for a loop over its digits.
    for (; end - at >= 16; at += 16) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
        const __m128i values = _mm_sub_epi8(bytes, _mm_set1_epi8('0'));
        const __m128i are_digits = _mm_cmpeq_epi8(_mm_min_epu8(values, _mm_set1_epi8(9)), values);
        const auto found = static_cast<unsigned>(_mm_movemask_epi8(are_digits)) ^ 0xFFFFU;
        if (found != 0) {
            at += __builtin_ctz(found);
            return at != start;
        }
    }
#endif
    while (at != end && is_digit(*at))
        ++at;
    return at != start;
}

bool is_plain(char c) {
    return c != '"' && c != '\\' && static_cast<unsigned char>(c) >= 0x20;
}

/// Returns the first character of a string that is not plain: a quote, a backslash or a control character.
inline const char* past_plain(const char* at, const char* end) {
#ifdef __SSE2__
    // Most strings are shorter than 16 bytes, so one step finds their end.
    for (; end - at >= 16; at += 16) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
        const __m128i is_control = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1F)), bytes);
        const __m128i is_mark = _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')),
                                             _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')));
        const int found = _mm_movemask_epi8(_mm_or_si128(is_control, is_mark));
        if (found != 0) return at + __builtin_ctz(static_cast<unsigned>(found));
    }
#endif
    while (at != end && is_plain(*at))
        ++at;
    return at;
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

bool JsonLine::parse(std::string_view line) {
    at_ = line.data();
    end_ = line.data() + line.size();
    count_ = 0;
    unescaped_.clear();
    // No escape is shorter than the text it encodes.
    unescaped_.reserve(line.size());
    const bool whole = take_value({}, 0);
    skip_blanks();
    if (whole && at_ == end_) return true;
    count_ = 0;
    return false;
}

inline void JsonLine::skip_blanks() {
    while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\r'))
        ++at_;
}

inline bool JsonLine::take(char character) {
    if (at_ == end_ || *at_ != character) return false;
    ++at_;
    return true;
}

/// Returns the next node. All of its members must be set.
inline JsonLine::Node& JsonLine::add_node() {
    if (count_ == nodes_.size()) nodes_.resize(2 * nodes_.size() + 64);
    return nodes_[count_++];
}

bool JsonLine::take_word(std::string_view word, Node& node) {
    const std::string_view rest(at_, static_cast<std::size_t>(end_ - at_));
    if (rest.substr(0, word.size()) != word) return false;
    node.kind = word == "null" ? Kind::null : Kind::boolean;
    node.text = rest.substr(0, word.size());
    at_ += word.size();
    return true;
}

inline bool JsonLine::take_number(Node& node) {
    const char* const start = at_;
    take('-');
    if (!skip_digits(at_, end_)) return false;
    if (take('.') && !skip_digits(at_, end_)) return false;
    if (at_ != end_ && (*at_ | 0x20) == 'e') {
        ++at_;
        if (!take('-')) take('+');
        if (!skip_digits(at_, end_)) return false;
    }
    node.kind = Kind::number;
    node.text = std::string_view(start, static_cast<std::size_t>(at_ - start));
    return true;
}

bool JsonLine::take_hex(std::uint32_t& code) {
    if (end_ - at_ < 4) return false;
    code = 0;
    for (std::size_t i = 0; i < 4; ++i) {
        const char c = at_[i];
        const char low = static_cast<char>(c | 0x20);
        if (!is_digit(c) && (low < 'a' || low > 'f')) return false;
        code = code << 4U | static_cast<std::uint32_t>(is_digit(c) ? c - '0' : low - 'a' + 10);
    }
    at_ += 4;
    return true;
}

/// Continues after the backslash.
bool JsonLine::take_escape() {
    if (at_ == end_) return false;
    const char kind = *at_++;
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
inline bool JsonLine::take_string(std::string_view& text) {
    const char* const stop = past_plain(at_, end_);
    text = std::string_view(at_, static_cast<std::size_t>(stop - at_));
    at_ = stop;
    return take('"') || take_escaped_string(text);
}

/// Continues after the first plain part, which is `text`.
bool JsonLine::take_escaped_string(std::string_view& text) {
    const std::size_t start = unescaped_.size();
    unescaped_ += text;
    while (!take('"')) {
        if (!take('\\') || !take_escape()) return false;
        const char* const stop = past_plain(at_, end_);
        unescaped_.append(at_, stop);
        at_ = stop;
    }
    text = std::string_view(unescaped_).substr(start);
    return true;
}

/// Continues after the opening bracket of the list that the node at `at` stands for.
bool JsonLine::take_list(Kind kind, std::size_t at, std::size_t depth) {
    nodes_[at].kind = kind;
    nodes_[at].text = {};
    const bool taken = take_values(kind, depth);
    nodes_[at].end = static_cast<std::uint32_t>(count_);
    return taken;
}

inline bool JsonLine::take_value(std::string_view key, std::size_t depth) {
    if (depth > kDeepest || count_ == kMostValues) return false;
    const std::size_t at = count_;
    Node& node = add_node();
    node.key = key;
    node.tag = tag_of(key);
    node.end = static_cast<std::uint32_t>(count_);
    skip_blanks();
    if (at_ == end_) return false;
    switch (*at_) {
        case '"':
            ++at_;
            node.kind = Kind::string;
            return take_string(node.text);
        case '{':
            ++at_;
            return take_list(Kind::object, at, depth);
        case '[':
            ++at_;
            return take_list(Kind::array, at, depth);
        case 'n':
            return take_word("null", node);
        case 't':
            return take_word("true", node);
        case 'f':
            return take_word("false", node);
        default:
            return take_number(node);
    }
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

}  // namespace aoti_dbg
