// The fewest digits that distinguish a number from every other number of its type, and the two formats that
// level 2 prints from them. std::to_chars finds the same digits with three times the instructions. One
// product with a power of ten gives the digits here. The error of the product is known, and if it could
// change the result, these functions return false or null, and std::to_chars must decide.
#pragma once

#include <cstdint>

namespace aoti_dbg {

/// digits * 10^exponent, without trailing zeros.
struct ShortestDecimal {
    std::uint64_t digits = 0;
    std::int32_t exponent = 0;
    std::int32_t length = 0;  // of the digits; 0: unknown, which the functions below return null for
    bool is_negative = false;
    bool is_float = false;  // float, not double
};

/// Return an unknown decimal for subnormal and non-finite numbers, and in a few rare cases.
ShortestDecimal shortest_decimal(double value);
ShortestDecimal shortest_decimal(float value);

/// Room that the functions below need. They write fewer characters, but copy in larger pieces.
inline constexpr int kRoomOfNumber = 64;

/// Writes what std::to_chars writes without a format. Returns the end of the text, or null.
char* write_shortest(const ShortestDecimal& decimal, char* at);

/// Writes six significant digits as %g does. Returns the end of the text, or null.
char* write_general(const ShortestDecimal& decimal, char* at);

/// Lays out exactly `length` digits, at most 9, as %g does: no trailing zeros, and an exponent if the point
/// would be far away. `exponent` is that of the first digit. Returns the end of the text.
char* lay_out_general(std::uint32_t digits, int length, int exponent, char* at);

}  // namespace aoti_dbg
