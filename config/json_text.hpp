// Parses JSON into a small tree that records the position of each value. Must not know what the file is for.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace aoti_dbg {

struct JsonValue {
    enum class Kind { null, boolean, number, string, array, object };
    Kind kind = Kind::null;
    std::size_t at = 0;      // offset of its first byte
    std::string text;        // content of a string, or a number as written
    std::string key;         // key of an object member
    std::size_t key_at = 0;  // offset of the key
    std::vector<JsonValue> children;
};

/// Says why a text is invalid and where: what was expected, or what is wrong.
struct JsonFault {
    std::size_t at = 0;
    std::string what;
};

/// Rejects text with more than kDeepestJson levels or kMostJsonValues values, so that no input can exhaust
/// the stack or memory.
std::variant<JsonValue, JsonFault> parse_json(std::string_view text);
inline constexpr std::size_t kDeepestJson = 16;
inline constexpr std::size_t kMostJsonValues = 1U << 16U;

/// A position, counted from 1. Columns count characters. A byte order mark has no width.
struct TextPosition {
    std::size_t line = 1;
    std::size_t column = 1;
};
TextPosition position_of(std::string_view text, std::size_t offset);

}  // namespace aoti_dbg
