// Parses one line of JSON into a flat list of values that point into a copy of the line. It builds no tree
// and allocates nothing in steady state. It accepts any bytes and bounds depth and value count. It must know
// nothing of what the line describes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace aoti_dbg {

class JsonLine {
    struct Node;

  public:
    static constexpr std::size_t kDeepest = 16;
    static constexpr std::size_t kMostValues = std::size_t{1} << 18U;

    enum class Kind : std::uint8_t { null, boolean, number, string, array, object };

    /// A value of the line, or none. All properties of a missing value are empty.
    class Value {
      public:
        Value() = default;
        explicit operator bool() const { return line_ != nullptr; }
        [[nodiscard]] bool is(Kind kind) const;
        /// Returns a string's contents, or a number, true, false or null as written.
        [[nodiscard]] std::string_view text() const;
        [[nodiscard]] std::string_view key() const;
        /// Returns tag_of(key()).
        [[nodiscard]] std::uint32_t tag() const;
        /// Returns the first member with that name.
        [[nodiscard]] Value member(std::string_view name) const;
        /// Iterate over the values of an array or object.
        [[nodiscard]] Value first() const;
        [[nodiscard]] Value next() const;

      private:
        friend class JsonLine;
        Value(const JsonLine* line, std::uint32_t at, std::uint32_t end) : line_(line), at_(at), end_(end) {}
        [[nodiscard]] const Node& node() const;
        const JsonLine* line_ = nullptr;
        std::uint32_t at_ = 0;
        std::uint32_t end_ = 0;  // index past its last sibling
    };

    /// Returns false if it is not JSON or exceeds the bounds. Values are valid until the next call.
    bool parse(std::string_view line);
    /// Returns the line of the last call, even if it is not JSON.
    [[nodiscard]] std::string_view line() const { return {text_.data(), size_}; }
    [[nodiscard]] Value root() const { return count_ == 0 ? Value() : Value(this, 0, 1); }

    /// A number for a name. Names with other numbers differ, and few names share one. Use it to switch
    /// over the members of an object.
    static constexpr std::uint32_t tag_of(std::string_view key) {
        if (key.empty()) return 0;
        const auto byte = [](char c) { return std::uint32_t{static_cast<unsigned char>(c)}; };
        return static_cast<std::uint32_t>(key.size()) << 16U | byte(key.front()) << 8U | byte(key.back());
    }

  private:
    struct Node {
        std::string_view key;
        std::string_view text;
        std::uint32_t end = 0;  // index past the last value nested in it
        std::uint32_t tag = 0;  // of the key
        Kind kind = Kind::null;
    };

    /// The key that the value with the same number had in an earlier line, because lines repeat their keys.
    struct ExpectedKey {
        char text[16] = {'"', '"', ':'};  // a key without escapes, and its colon
        std::uint32_t size = 3;           // of the text
        std::uint32_t tag = 0;
    };
    struct Nesting;

    // These take what starts at `at` and return where it ends, or null if it is not JSON.
    const char* take_string(const char* at, std::string_view& text);
    const char* take_escaped_string(const char* start, const char* at, std::string_view& text);
    const char* take_key(const char* at, Node& node, ExpectedKey& expected);
    const char* take_simple(const char* at, Node& node);
    const char* take_ends(const char* at, Nesting& nesting, std::uint32_t count);
    std::uint32_t scan();
    bool make_room(std::uint32_t& most);

    std::string text_;               // a copy of the line, and zeros behind it
    std::size_t size_ = 0;           // of the line
    std::string unescaped_;          // strings that had escapes; never grows while values point into it
    std::vector<Node> nodes_;        // the first `count_` of them are in use
    std::vector<ExpectedKey> keys_;  // as many as there are nodes
    std::uint32_t count_ = 0;
};

inline const JsonLine::Node& JsonLine::Value::node() const {
    return line_->nodes_[at_];
}
inline bool JsonLine::Value::is(Kind kind) const {
    return line_ != nullptr && node().kind == kind;
}
inline std::string_view JsonLine::Value::text() const {
    return line_ == nullptr ? std::string_view() : node().text;
}
inline std::uint32_t JsonLine::Value::tag() const {
    return line_ == nullptr ? 0 : node().tag;
}
inline JsonLine::Value JsonLine::Value::first() const {
    if (!is(Kind::object) && !is(Kind::array)) return {};
    return node().end == at_ + 1 ? Value() : Value(line_, at_ + 1, node().end);
}
inline JsonLine::Value JsonLine::Value::next() const {
    if (line_ == nullptr || node().end >= end_) return {};
    return {line_, node().end, end_};
}
inline JsonLine::Value JsonLine::Value::member(std::string_view name) const {
    if (!is(Kind::object)) return {};
    const std::uint32_t tag = tag_of(name);
    const Node* const nodes = line_->nodes_.data();
    const std::uint32_t end = nodes[at_].end;
    for (std::uint32_t at = at_ + 1; at < end; at = nodes[at].end) {
        if (nodes[at].tag == tag && nodes[at].key == name) return {line_, at, end};
    }
    return {};
}
inline std::string_view JsonLine::Value::key() const {
    return line_ == nullptr ? std::string_view() : node().key;
}

}  // namespace aoti_dbg
