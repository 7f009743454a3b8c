#include "serializer/json_line.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace aoti_dbg {
namespace {

// The text ends in this many zeros. No token has one, so the scanner needs no other check for the end, and it
// may read beyond it.
constexpr std::size_t kPadding = 64;

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

inline const char* past_blanks(const char* at) {
    // Our writer puts no blanks, and no other token starts with a smaller character.
    while (static_cast<unsigned char>(*at) <= ' ' && (*at == ' ' || *at == '\t' || *at == '\r'))
        ++at;
    return at;
}

#ifdef __SSE2__

inline unsigned bits_of(__m128i are_marked) {
    return static_cast<unsigned>(_mm_movemask_epi8(are_marked));
}

inline __m128i bytes_at(const char* at) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
}

/// Returns a bit for each of 16 bytes that is not a digit.
inline unsigned others_of_16(const char* at) {
    const __m128i values = _mm_sub_epi8(bytes_at(at), _mm_set1_epi8('0'));
    return bits_of(_mm_cmpeq_epi8(_mm_min_epu8(values, _mm_set1_epi8(9)), values)) ^ 0xFFFFU;
}

/// The length of a number is hard to predict for a loop over its digits.
inline const char* past_digits(const char* at) {
    for (;; at += 16)
        if (const unsigned others = others_of_16(at); others != 0) return at + __builtin_ctz(others);
}

/// Returns the first character of a string that is not plain: a quote, a backslash or a control character.
inline const char* past_plain(const char* at) {
    // Most strings are shorter than 16 bytes, so one step finds their end.
    for (;; at += 16) {
        const __m128i bytes = bytes_at(at);
        const __m128i is_control = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1F)), bytes);
        const __m128i is_mark = _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')),
                                             _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')));
        if (const unsigned found = bits_of(_mm_or_si128(is_control, is_mark)); found != 0)
            return at + __builtin_ctz(found);
    }
}

/// True if the first `size` bytes are equal. 16 bytes of both must be readable.
inline bool starts_with(const char* at, const char* text, unsigned size) {
    const unsigned equal = bits_of(_mm_cmpeq_epi8(bytes_at(at), bytes_at(text)));
    return (equal | 0xFFFFU << size) == (0xFFFFU | 0xFFFFU << size);
}

#else

inline const char* past_digits(const char* at) {
    while (is_digit(*at))
        ++at;
    return at;
}

inline const char* past_plain(const char* at) {
    while (*at != '"' && *at != '\\' && static_cast<unsigned char>(*at) >= 0x20)
        ++at;
    return at;
}

inline bool starts_with(const char* at, const char* text, unsigned size) {
    return std::memcmp(at, text, size) == 0;
}

#endif

/// Returns null if there is no number.
inline const char* past_number(const char* at) {
    at += *at == '-' ? 1 : 0;
    const char* digits = past_digits(at);
    if (digits == at) return nullptr;
    at = digits;
    if (*at == '.') {
        digits = past_digits(++at);
        if (digits == at) return nullptr;
        at = digits;
    }
    if ((*at | 0x20) == 'e') {
        ++at;
        at += *at == '-' || *at == '+' ? 1 : 0;
        digits = past_digits(at);
        if (digits == at) return nullptr;
        at = digits;
    }
    return at;
}

/// Returns null if the word is not there.
inline const char* past_word(const char* at, std::string_view word) {
    return std::memcmp(at, word.data(), word.size()) == 0 ? at + word.size() : nullptr;
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

const char* take_hex(const char* at, std::uint32_t& code) {
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
const char* take_escape(const char* at, std::string& out) {
    const char kind = *at++;
    constexpr std::string_view kNames = "\"\\/bfnrt";
    if (const std::size_t found = kNames.find(kind); found != std::string_view::npos) {
        out += "\"\\/\b\f\n\r\t"[found];
        return at;
    }
    std::uint32_t code = 0;
    if (kind != 'u') return nullptr;
    at = take_hex(at, code);
    if (at == nullptr) return nullptr;
    if (code >= 0xD800 && code < 0xE000) {
        std::uint32_t low = 0;
        at = past_word(at, "\\u");
        if (code >= 0xDC00 || at == nullptr) return nullptr;
        at = take_hex(at, low);
        if (at == nullptr || low < 0xDC00 || low > 0xDFFF) return nullptr;
        code = 0x10000 + ((code - 0xD800) << 10U) + (low - 0xDC00);
    }
    append_character(code, out);
    return at;
}

}  // namespace

/// Objects and arrays that have not ended, from 1 to `depth`.
struct JsonLine::Nesting {
    std::array<std::uint32_t, kDeepest + 2> nodes;
    std::array<char, kDeepest + 2> ends = {};
    std::size_t depth = 0;
};

/// Continues after the opening quote.
inline const char* JsonLine::take_string(const char* at, std::string_view& text) {
    const char* const stop = past_plain(at);
    if (*stop != '"') return take_escaped_string(at, stop, text);
    text = std::string_view(at, static_cast<std::size_t>(stop - at));
    return stop + 1;
}

/// Continues at the first character that is not plain.
const char* JsonLine::take_escaped_string(const char* start, const char* at, std::string_view& text) {
    // No escape is shorter than the text it encodes.
    if (unescaped_.empty()) unescaped_.reserve(size_);
    const std::size_t first = unescaped_.size();
    unescaped_.append(start, at);
    while (*at != '"') {
        if (*at != '\\') return nullptr;
        at = take_escape(at + 1, unescaped_);
        if (at == nullptr) return nullptr;
        const char* const stop = past_plain(at);
        unescaped_.append(at, stop);
        at = stop;
    }
    text = std::string_view(unescaped_).substr(first);
    return at + 1;
}

/// Takes a key and its colon.
const char* JsonLine::take_key(const char* at, Node& node, ExpectedKey& expected) {
    const char* const start = at;
    if (*at != '"') return nullptr;
    at = take_string(at + 1, node.key);
    if (at == nullptr) return nullptr;
    at = past_blanks(at);
    if (*at != ':') return nullptr;
    ++at;
    node.tag = tag_of(node.key);
    const auto size = static_cast<std::size_t>(at - start);
    if (size > sizeof expected.text || size != node.key.size() + 3) return at;
    std::memcpy(expected.text, start, size);
    expected.size = static_cast<std::uint32_t>(size);
    expected.tag = node.tag;
    return at;
}

/// Takes a value that contains no others.
inline const char* JsonLine::take_simple(const char* at, Node& node) {
    const auto take = [&](Kind kind, const char* end) {
        node.kind = kind;
        if (end != nullptr) node.text = std::string_view(at, static_cast<std::size_t>(end - at));
        return end;
    };
    switch (*at) {
        case '"':
            node.kind = Kind::string;
            return take_string(at + 1, node.text);
        case 'n':
            return take(Kind::null, past_word(at, "null"));
        case 't':
            return take(Kind::boolean, past_word(at, "true"));
        case 'f':
            return take(Kind::boolean, past_word(at, "false"));
        default:
            return take(Kind::number, past_number(at));
    }
}

/// Takes the closing brackets after a value, and the comma after them.
inline const char* JsonLine::take_ends(const char* at, Nesting& nesting, std::uint32_t count) {
    for (;; ++at) {
        at = past_blanks(at);
        if (*at == ',' && nesting.depth != 0) return past_blanks(at + 1);
        if (nesting.depth == 0) return at;
        if (*at != nesting.ends[nesting.depth]) return nullptr;
        nodes_[nesting.nodes[nesting.depth--]].end = count;
    }
}

/// Returns the number of values, or 0 if it is not JSON or exceeds the bounds.
std::uint32_t JsonLine::scan() {
    Nesting nesting;
    std::uint32_t count = 0;
    auto most = static_cast<std::uint32_t>(nodes_.size());
    const char* at = past_blanks(text_.data());
    do {
        if (nesting.depth > kDeepest || (count == most && !make_room(most))) return 0;
        Node& node = nodes_[count];
        if (nesting.ends[nesting.depth] != '}') {
            node.key = {};
            node.tag = 0;
        } else if (ExpectedKey& expected = keys_[count]; starts_with(at, expected.text, expected.size)) {
            node.key = std::string_view(at + 1, expected.size - 3);
            node.tag = expected.tag;
            at = past_blanks(at + expected.size);
        } else {
            at = take_key(at, node, expected);
            if (at == nullptr) return 0;
            at = past_blanks(at);
        }
        node.end = ++count;
        if (*at == '{' || *at == '[') {
            const char end = *at == '{' ? '}' : ']';
            node.kind = *at == '{' ? Kind::object : Kind::array;
            node.text = {};
            at = past_blanks(at + 1);
            if (*at != end) {
                nesting.nodes[++nesting.depth] = count - 1;
                nesting.ends[nesting.depth] = end;
                continue;
            }
            ++at;
        } else {
            at = take_simple(at, node);
            if (at == nullptr) return 0;
        }
        at = take_ends(at, nesting, count);
        if (at == nullptr) return 0;
    } while (nesting.depth != 0);
    return at == text_.data() + size_ ? count : 0;
}

bool JsonLine::make_room(std::uint32_t& most) {
    if (most == kMostValues) return false;
    nodes_.resize(std::min(std::max<std::size_t>(64, 2 * nodes_.size()), kMostValues));
    keys_.resize(nodes_.size());
    most = static_cast<std::uint32_t>(nodes_.size());
    return true;
}

bool JsonLine::parse(std::string_view line) {
    if (text_.size() < line.size() + kPadding) text_.resize(line.size() + kPadding);
    size_ = line.size();
    line.copy(text_.data(), size_);
    std::memset(text_.data() + size_, 0, kPadding);
    unescaped_.clear();
    count_ = scan();
    return count_ != 0;
}

}  // namespace aoti_dbg
