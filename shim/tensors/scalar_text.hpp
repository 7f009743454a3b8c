// Scalars and strings that a call gets, as text: numbers as C++ prints them, lists and strings as Python
// writes them. By value and of a fixed size, since they wait in a queue; what is too long is cut, and says
// so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace aoti_dbg {

class ShortText {
  public:
    static constexpr std::size_t kMost = 47;

    ShortText() = default;
    explicit ShortText(std::string_view text);
    static ShortText integer(std::int64_t value);
    static ShortText unsigned_integer(std::uint64_t value);
    static ShortText real(double value);
    /// [1, -1, 3]
    template <typename Integer>
    static ShortText list(const Integer* values, std::size_t count);
    /// "relu", with quotes; what is not printable or would end it is escaped. `is_whole`: nothing follows.
    static ShortText quoted(std::string_view bytes, bool is_whole = true);
    /// The same of a C string, of which no more is read than has room. None where it cannot be read.
    static std::optional<ShortText> string_at(const char* text);

    [[nodiscard]] std::string_view view() const { return {text_, length_}; }

  private:
    static constexpr std::string_view kCut = "...";
    [[nodiscard]] std::size_t room() const { return kMost - length_; }
    void append(std::string_view text);

    char text_[kMost] = {};
    std::uint8_t length_ = 0;
};

}  // namespace aoti_dbg
