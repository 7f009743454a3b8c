#include "serializer/json_line.hpp"

#include <algorithm>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace aoti_dbg {
namespace {

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

inline const char* past_blanks(const char* at, const char* end) {
    // Our writer puts no blanks, and no other token starts with a smaller character.
    while (at != end && static_cast<unsigned char>(*at) <= ' ' && (*at == ' ' || *at == '\t' || *at == '\r'))
        ++at;
    return at;
}

inline bool starts_with(const char* at, const char* end, char character) {
    return at != end && *at == character;
}

inline const char* past_digits(const char* at, const char* end) {
#ifdef __SSE2__
    // The length of a number is hard to predict for a loop over its digits.
    for (; end - at >= 16; at += 16) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
        const __m128i values = _mm_sub_epi8(bytes, _mm_set1_epi8('0'));
        const __m128i are_digits = _mm_cmpeq_epi8(_mm_min_epu8(values, _mm_set1_epi8(9)), values);
        const auto found = static_cast<unsigned>(_mm_movemask_epi8(are_digits)) ^ 0xFFFFU;
        if (found != 0) return at + __builtin_ctz(found);
    }
#endif
    while (at != end && is_digit(*at))
        ++at;
    return at;
}

/// Returns null if there is no number.
inline const char* past_number(const char* at, const char* end) {
    if (starts_with(at, end, '-')) ++at;
    const char* digits = past_digits(at, end);
    if (digits == at) return nullptr;
    at = digits;
    if (starts_with(at, end, '.')) {
        digits = past_digits(++at, end);
        if (digits == at) return nullptr;
        at = digits;
    }
    if (at != end && (*at | 0x20) == 'e') {
        ++at;
        if (at != end && (*at == '-' || *at == '+')) ++at;
        digits = past_digits(at, end);
        if (digits == at) return nullptr;
        at = digits;
    }
    return at;
}

/// Returns null if the word is not there.
inline const char* past_word(const char* at, const char* end, std::string_view word) {
    const std::string_view rest(at, static_cast<std::size_t>(end - at));
    return rest.starts_with(word) ? at + word.size() : nullptr;
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
    end_ = line.data() + line.size();
    count_ = 0;
    unescaped_.clear();
    // No escape is shorter than the text it encodes.
    unescaped_.reserve(line.size());
    // Each value takes two characters, with the comma or bracket behind it.
    most_ = std::min(line.size() / 2 + 1, kMostValues);
    if (nodes_.size() < most_) nodes_.resize(most_);
    const char* const at = take_value(past_blanks(line.data(), end_), {}, 0);
    if (at != nullptr && past_blanks(at, end_) == end_) return true;
    count_ = 0;
    return false;
}

const char* JsonLine::take_hex(const char* at, std::uint32_t& code) const {
    if (end_ - at < 4) return nullptr;
    code = 0;
    for (std::size_t i = 0; i < 4; ++i) {
        const char c = at[i];
        const char low = static_cast<char>(c | 0x20);
        if (!is_digit(c) && (low < 'a' || low > 'f')) return nullptr;
        code = code << 4U | static_cast<std::uint32_t>(is_digit(c) ? c - '0' : low - 'a' + 10);
    }
    return at + 4;
}

/// Continues after the backslash.
const char* JsonLine::take_escape(const char* at) {
    if (at == end_) return nullptr;
    const char kind = *at++;
    constexpr std::string_view kNames = "\"\\/bfnrt";
    if (const std::size_t found = kNames.find(kind); found != std::string_view::npos) {
        unescaped_ += "\"\\/\b\f\n\r\t"[found];
        return at;
    }
    std::uint32_t code = 0;
    if (kind != 'u') return nullptr;
    at = take_hex(at, code);
    if (at == nullptr) return nullptr;
    if (code >= 0xD800 && code < 0xE000) {
        std::uint32_t low = 0;
        at = past_word(at, end_, "\\u");
        if (code >= 0xDC00 || at == nullptr) return nullptr;
        at = take_hex(at, low);
        if (at == nullptr || low < 0xDC00 || low > 0xDFFF) return nullptr;
        code = 0x10000 + ((code - 0xD800) << 10U) + (low - 0xDC00);
    }
    append_character(code, unescaped_);
    return at;
}

/// Continues after the opening quote.
inline const char* JsonLine::take_string(const char* at, std::string_view& text) {
    const char* const stop = past_plain(at, end_);
    if (stop == end_ || *stop != '"') return take_escaped_string(at, stop, text);
    text = std::string_view(at, static_cast<std::size_t>(stop - at));
    return stop + 1;
}

/// Continues at the first character that is not plain.
const char* JsonLine::take_escaped_string(const char* start, const char* at, std::string_view& text) {
    const std::size_t first = unescaped_.size();
    unescaped_.append(start, at);
    while (!starts_with(at, end_, '"')) {
        if (!starts_with(at, end_, '\\')) return nullptr;
        at = take_escape(at + 1);
        if (at == nullptr) return nullptr;
        const char* const stop = past_plain(at, end_);
        unescaped_.append(at, stop);
        at = stop;
    }
    text = std::string_view(unescaped_).substr(first);
    return at + 1;
}

inline const char* JsonLine::take_value(const char* at, std::string_view key, std::size_t depth) {
    if (depth > kDeepest || count_ == most_ || at == end_) return nullptr;
    Node& node = nodes_[count_++];
    node.key = key;
    node.tag = tag_of(key);
    node.text = {};
    const char* const start = at;
    switch (*at) {
        case '"':
            node.kind = Kind::string;
            at = take_string(at + 1, node.text);
            break;
        case '{':
            node.kind = Kind::object;
            at = take_object(at + 1, depth);
            break;
        case '[':
            node.kind = Kind::array;
            at = take_array(at + 1, depth);
            break;
        case 'n':
        case 't':
        case 'f':
            node.kind = *at == 'n' ? Kind::null : Kind::boolean;
            at = past_word(at, end_, *at == 'n' ? "null" : *at == 't' ? "true" : "false");
            if (at != nullptr) node.text = std::string_view(start, static_cast<std::size_t>(at - start));
            break;
        default:
            node.kind = Kind::number;
            at = past_number(at, end_);
            if (at != nullptr) node.text = std::string_view(start, static_cast<std::size_t>(at - start));
    }
    node.end = static_cast<std::uint32_t>(count_);
    return at;
}

/// Continues after the opening bracket.
const char* JsonLine::take_object(const char* at, std::size_t depth) {
    at = past_blanks(at, end_);
    if (starts_with(at, end_, '}')) return at + 1;
    for (;;) {
        std::string_view key;
        if (!starts_with(at, end_, '"')) return nullptr;
        at = take_string(at + 1, key);
        if (at == nullptr) return nullptr;
        at = past_blanks(at, end_);
        if (!starts_with(at, end_, ':')) return nullptr;
        at = take_value(past_blanks(at + 1, end_), key, depth + 1);
        if (at == nullptr) return nullptr;
        at = past_blanks(at, end_);
        if (!starts_with(at, end_, ',')) return starts_with(at, end_, '}') ? at + 1 : nullptr;
        at = past_blanks(at + 1, end_);
    }
}

/// Continues after the opening bracket.
const char* JsonLine::take_array(const char* at, std::size_t depth) {
    at = past_blanks(at, end_);
    if (starts_with(at, end_, ']')) return at + 1;
    for (;;) {
        at = take_value(past_blanks(at, end_), {}, depth + 1);
        if (at == nullptr) return nullptr;
        at = past_blanks(at, end_);
        if (!starts_with(at, end_, ',')) return starts_with(at, end_, ']') ? at + 1 : nullptr;
        ++at;
    }
}

}  // namespace aoti_dbg
