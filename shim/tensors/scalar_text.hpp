// The scalars and strings that a call receives, and their text. Numbers look as C++ prints them; lists and
// strings look as Python writes them. Both have a fixed size and are passed by value because they wait in a
// queue. Text that is too long ends in "...".
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

namespace aoti_dbg {

class ShortText {
  public:
    static constexpr std::size_t kMost = 47;

    ShortText() = default;
    explicit ShortText(std::string_view text);
    static ShortText integer(std::int64_t value);
    static ShortText unsigned_integer(std::uint64_t value);
    static ShortText real(double value);
    /// Formats a list such as [1, -1, 3].
    template <typename Integer>
    static ShortText list(const Integer* values, std::size_t count);
    /// Formats a string such as "relu", with quotes, and escapes unprintable characters and quotes.
    /// `is_whole` means that the string has no further bytes.
    static ShortText quoted(std::string_view bytes, bool is_whole = true);
    /// Does the same for a C string and reads no more than fits. Returns nothing if the string cannot be
    /// read.
    static std::optional<ShortText> string_at(const char* text);

    [[nodiscard]] std::string_view view() const { return {text_, length_}; }

  private:
    static constexpr std::string_view kCut = "...";
    [[nodiscard]] std::size_t room() const { return kMost - length_; }
    void append(std::string_view text);

    char text_[kMost] = {};
    std::uint8_t length_ = 0;
};

/// A number gets its text when it is written, which is not the work of a launching thread.
using ScalarValue = std::variant<std::int64_t, std::uint64_t, double, ShortText>;

ShortText text_of(const ScalarValue& value);

}  // namespace aoti_dbg
