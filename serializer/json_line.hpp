// One line of JSON as a flat list of values that point into it: no tree, no allocation in steady state. Takes
// any bytes; depth and number of values are bounded. Knows nothing of what the line is about.
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

    /// A value of the line, or none: of what is not there everything is empty.
    class Value {
      public:
        Value() = default;
        explicit operator bool() const { return line_ != nullptr; }
        [[nodiscard]] bool is(Kind kind) const;
        /// A string's content; a number, true, false or null as it is written.
        [[nodiscard]] std::string_view text() const;
        [[nodiscard]] std::string_view key() const;
        /// The first member of that name.
        [[nodiscard]] Value member(std::string_view name) const;
        /// Of an array or an object, one after the other.
        [[nodiscard]] Value first() const;
        [[nodiscard]] Value next() const;

      private:
        friend class JsonLine;
        Value(const JsonLine* line, std::uint32_t at, std::uint32_t end) : line_(line), at_(at), end_(end) {}
        [[nodiscard]] const Node& node() const;
        const JsonLine* line_ = nullptr;
        std::uint32_t at_ = 0;
        std::uint32_t end_ = 0;  // of the values beside it
    };

    /// False where it is no JSON, or beyond the bounds. Values point into `line` until the next time.
    bool parse(std::string_view line);
    [[nodiscard]] Value root() const { return nodes_.empty() ? Value() : Value(this, 0, 1); }

  private:
    struct Node {
        std::string_view key;
        std::string_view text;
        std::uint32_t end = 0;  // behind the last value that lies in it
        Kind kind = Kind::null;
    };

    void skip_blanks();
    bool take(char character);
    bool take_word(std::string_view word, Kind kind);
    bool take_number();
    bool take_string(std::string_view& text);
    bool take_escape();
    bool take_hex(std::uint32_t& code);
    bool take_values(Kind kind, std::size_t depth);
    bool take_value(std::string_view key, std::size_t depth);

    std::string_view rest_;
    std::string unescaped_;  // strings with escapes; never grows while values point to it
    std::vector<Node> nodes_;
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
inline std::string_view JsonLine::Value::key() const {
    return line_ == nullptr ? std::string_view() : node().key;
}

}  // namespace aoti_dbg
