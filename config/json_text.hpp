// JSON as a small tree that knows where in the text each thing stands. Nothing here knows what the file is
// for.
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
    std::string text;        // a string's content; a number as it is written
    std::string key;         // of a member of an object
    std::size_t key_at = 0;  // offset of that
    std::vector<JsonValue> children;
};

/// Why a text cannot be used, and where: what was expected there, or what is wrong.
struct JsonFault {
    std::size_t at = 0;
    std::string what;
};

/// Not more deeply nested, and not more values, than kDeepestJson and kMostJsonValues, so that nothing the
/// text holds can use up the stack or the memory.
std::variant<JsonValue, JsonFault> parse_json(std::string_view text);
inline constexpr std::size_t kDeepestJson = 16;
inline constexpr std::size_t kMostJsonValues = 1U << 16U;

/// Both from 1; columns count characters. A byte order mark has no width.
struct TextPosition {
    std::size_t line = 1;
    std::size_t column = 1;
};
TextPosition position_of(std::string_view text, std::size_t offset);

}  // namespace aoti_dbg
