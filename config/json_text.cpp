// Uses nlohmann's parser. It reports values without positions, so an iterator counts the bytes it reads. Its
// error messages are not for users, so this code derives what was expected from the last token.
#include "config/json_text.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>

namespace aoti_dbg {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr int kNumberOverflow = 406;  // the parser's number for this error

/// Counts the bytes that the parser has read.
class CountingIterator {
  public:
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;

    CountingIterator(const char* at, std::size_t* consumed) : at_(at), consumed_(consumed) {}
    reference operator*() const { return *at_; }
    CountingIterator& operator++() {
        ++at_;
        ++*consumed_;
        return *this;
    }
    CountingIterator operator++(int) {
        const CountingIterator before = *this;
        ++*this;
        return before;
    }
    bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
    bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

  private:
    const char* at_;
    std::size_t* consumed_;
};

class TreeBuilder : public nlohmann::json_sax<nlohmann::json> {
  public:
    explicit TreeBuilder(std::string_view text) : text_(text) {
        if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark) behind_ = kByteOrderMark.size();
    }

    std::size_t consumed = 0;
    JsonValue root;
    std::optional<JsonFault> fault;

    bool null() override { return leaf(JsonValue::Kind::null); }
    bool boolean(bool) override { return leaf(JsonValue::Kind::boolean); }
    bool number_integer(number_integer_t) override { return number(); }
    bool number_unsigned(number_unsigned_t) override { return number(); }
    bool number_float(number_float_t, const string_t&) override { return number(); }
    bool binary(binary_t&) override { return false; }  // not possible in a text
    bool string(string_t& content) override {
        JsonValue* const value = add(JsonValue::Kind::string);
        if (value == nullptr) return false;
        value->text = std::move(content);
        behind_ = consumed;
        return true;
    }
    bool start_object(std::size_t) override { return open(JsonValue::Kind::object); }
    bool end_object() override { return close(); }
    bool start_array(std::size_t) override { return open(JsonValue::Kind::array); }
    bool end_array() override { return close(); }
    bool key(string_t& name) override {
        key_at_ = next_token();
        key_ = std::move(name);
        behind_ = consumed;
        after_ = After::key;
        return true;
    }
    /// `read` counts the end of the text as a character.
    bool parse_error(std::size_t read, const std::string&, const nlohmann::json::exception& error) override {
        fault = explain(error.id == kNumberOverflow, read > text_.size());
        return false;
    }

  private:
    /// The kind of the last token.
    enum class After { nothing, opening, key, value };

    [[nodiscard]] std::size_t skip(std::string_view characters, std::size_t from) const {
        return std::min(text_.find_first_not_of(characters, from), text_.size());
    }
    [[nodiscard]] std::size_t skip_blanks(std::size_t from) const { return skip(" \t\r\n", from); }
    /// Returns the start of the token that the parser has just read.
    [[nodiscard]] std::size_t next_token() const { return skip(" \t\r\n,:", behind_); }

    JsonValue* add(JsonValue::Kind kind) {
        const std::size_t at = next_token();
        if (++values_ > kMostJsonValues) {
            fault = JsonFault{at, "too many values: expected at most " + std::to_string(kMostJsonValues)};
            return nullptr;
        }
        // Each open value is the last child of the one before it, so pointers to them stay valid.
        JsonValue* const value = open_.empty() ? &root : &open_.back()->children.emplace_back();
        value->kind = kind;
        value->at = at;
        value->key = std::move(key_);
        value->key_at = key_at_;
        key_.clear();
        after_ = After::value;
        return value;
    }
    bool leaf(JsonValue::Kind kind) {
        if (add(kind) == nullptr) return false;
        behind_ = consumed;
        return true;
    }
    /// The parser reads one character past a number to find its end, unless the text ends there.
    bool number() {
        JsonValue* const value = add(JsonValue::Kind::number);
        if (value == nullptr) return false;
        const std::size_t end = skip("0123456789+-.eE", value->at);
        behind_ = consumed == text_.size() ? end : std::min(end, consumed - 1);
        value->text = text_.substr(value->at, behind_ - value->at);
        return true;
    }
    bool open(JsonValue::Kind kind) {
        if (open_.size() == kDeepestJson) {
            fault = JsonFault{next_token(), "nested too deeply"};
            return false;
        }
        JsonValue* const value = add(kind);
        if (value == nullptr) return false;
        open_.push_back(value);
        behind_ = consumed;
        after_ = After::opening;
        return true;
    }
    bool close() {
        open_.pop_back();
        behind_ = consumed;
        after_ = After::value;
        return true;
    }

    [[nodiscard]] JsonFault explain(bool overflow, bool ended) const;
    [[nodiscard]] JsonFault explain_string(std::size_t at, bool ended) const;

    std::string_view text_;
    std::size_t behind_ = 0;  // end of the last token
    After after_ = After::nothing;
    std::vector<JsonValue*> open_;
    std::string key_;
    std::size_t key_at_ = 0;
    std::size_t values_ = 0;
};

/// Explains an error inside the string that starts at `at`.
JsonFault TreeBuilder::explain_string(std::size_t at, bool ended) const {
    if (ended || consumed <= at + 1) return {at, "expected a closing quote, got the end of the file"};
    const std::size_t stop = consumed - 1;
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text_[i]); };
    if (byte(stop) < 0x20) return {stop, "invalid string: it has a line break or another control character"};
    const bool is_escape = text_[stop - 1] == '\\';
    if (!is_escape && (byte(stop) >= 0x80 || byte(stop - 1) >= 0x80))
        return {stop, "invalid string: it is not UTF-8"};
    return {stop, "invalid string: JSON has no such escape"};
}

JsonFault TreeBuilder::explain(bool overflow, bool ended) const {
    const bool in_object = !open_.empty() && open_.back()->kind == JsonValue::Kind::object;
    std::size_t at = skip_blanks(behind_);
    const auto is_next = [&](char c) { return at < text_.size() && text_[at] == c; };
    bool key = false;
    bool value = false;
    std::string expected;
    if (after_ == After::nothing) {
        value = true;
        expected = "an object, { ... }";
    } else if (after_ == After::opening) {
        key = in_object;
        value = !in_object;
        expected = in_object ? "a key in double quotes or a closing }" : "a value or a closing ]";
    } else if (after_ == After::value && open_.empty()) {
        expected = "the end of the file";
    } else if (!is_next(after_ == After::key ? ':' : ',')) {
        expected = after_ == After::key ? "a colon"
                   : in_object          ? "a comma or a closing }"
                                        : "a comma or a closing ]";
    } else {
        at = skip_blanks(at + 1);
        key = after_ == After::value && in_object;
        value = !key;
        expected = key ? "a key in double quotes" : "a value (strings in double quotes)";
    }
    if (at == text_.size()) return {at, "expected " + expected + ", got the end of the file"};
    if ((key || value) && is_next('"')) return explain_string(at, ended);
    if (value && overflow) return {at, "invalid number: it is too large"};
    if (value && skip("0123456789+-.", at) > at) return {at, "invalid number: JSON does not allow this form"};
    return {at, "expected " + expected};
}

}  // namespace

std::variant<JsonValue, JsonFault> parse_json(std::string_view text) {
    // The parser takes a NUL byte as the end of the text and would miss the rest.
    const std::size_t nul = text.find('\0');
    if (nul != std::string_view::npos) return JsonFault{nul, "the file has a NUL byte"};
    try {
        TreeBuilder builder(text);
        const CountingIterator begin(text.data(), &builder.consumed);
        const CountingIterator end(text.data() + text.size(), &builder.consumed);
        if (nlohmann::json::sax_parse(begin, end, &builder)) return std::move(builder.root);
        return builder.fault.value_or(JsonFault{0, "cannot read the file"});
    } catch (...) {
        return JsonFault{0, "cannot read the file: out of memory"};
    }
}

TextPosition position_of(std::string_view text, std::size_t offset) {
    TextPosition position;
    std::size_t i = text.substr(0, kByteOrderMark.size()) == kByteOrderMark ? kByteOrderMark.size() : 0;
    for (; i < std::min(offset, text.size()); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        if (byte == '\n') {
            ++position.line;
            position.column = 1;
        } else if (byte < 0x80 || byte > 0xBF) {  // ignore continuation bytes
            ++position.column;
        }
    }
    return position;
}

}  // namespace aoti_dbg
