// Writes short text into memory that has room for it. Appending each piece to a string checks the room and
// calls memcpy each time, which costs more than most pieces do.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "serializer/powers_of_ten.hpp"

namespace aoti_dbg {

/// Room for an integer with its sign.
inline constexpr std::size_t kRoomOfInteger = 20;

/// Returns the number of decimal digits.
inline int digits_of(std::uint64_t value) {
    const std::uint64_t positive = value | 1U;
    const int about = (static_cast<int>(std::bit_width(positive)) * 1233) >> 12;
    return about + (positive >= kSmallPowers[about] ? 1 : 0);
}

/// "00" to "99".
struct DigitPairs {
    char text[200] = {};
    constexpr DigitPairs() {
        for (std::size_t i = 0; i < 100; ++i) {
            text[2 * i] = static_cast<char>('0' + i / 10);
            text[2 * i + 1] = static_cast<char>('0' + i % 10);
        }
    }
};
inline constexpr DigitPairs kDigitPairs;

/// Writes the digits of a number before `end`. Returns their start.
template <typename Number>
char* write_digits_before(Number value, char* end) {
    for (; value >= 100; value /= 100) {
        end -= 2;
        memcpy(end, &kDigitPairs.text[2 * static_cast<std::size_t>(value % 100)], 2);
    }
    if (value >= 10) {
        end -= 2;
        memcpy(end, &kDigitPairs.text[2 * static_cast<std::size_t>(value)], 2);
    } else {
        *--end = static_cast<char>('0' + static_cast<int>(value));
    }
    return end;
}

class TextPen {
  public:
    explicit TextPen(char* at) : at_(at) {}

    [[nodiscard]] char* at() const { return at_; }
    void move_to(char* at) { at_ = at; }

    void put(std::string_view text) {
        memcpy(at_, text.data(), text.size());
        at_ += text.size();
    }
    void put(char letter) { *at_++ = letter; }
    void put(std::uint64_t value) {
        at_ += digits_of(value);
        write_digits_before(value, at_);
    }
    void put(std::int64_t value) {
        if (value < 0) *at_++ = '-';
        const auto bits = static_cast<std::uint64_t>(value);
        put(value < 0 ? std::uint64_t{0} - bits : bits);
    }
    void put_member(std::string_view name, std::uint64_t value) {
        put(name);
        put(value);
    }
    /// All 16 digits.
    void put_hex(std::uint64_t value) {
        for (unsigned i = 16; i-- > 0;)
            *at_++ = digit_of(value >> (4 * i));
    }
    /// "0x7f3a00000000" with quotes.
    void put_address(std::uint64_t value) {
        put("\"0x");
        const auto digits = (static_cast<unsigned>(std::bit_width(value | 1U)) + 3) / 4;
        for (unsigned i = digits; i-- > 0;)
            *at_++ = digit_of(value >> (4 * i));
        put('"');
    }

  private:
    static char digit_of(std::uint64_t value) {
        const auto digit = static_cast<unsigned>(value & 15U);
        return static_cast<char>(digit + (digit < 10 ? '0' : 'a' - 10));
    }

    char* at_;
};

}  // namespace aoti_dbg
