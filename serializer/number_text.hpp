// Formats numbers independently of the program's locale, without allocating beyond what `out` needs. One
// format matches C++ streams, because PyTorch's printer uses std::cout; the other is JSON.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace aoti_dbg {

inline constexpr int kMostGeneralDigits = 9;

/// Appends `digits` significant digits, at most kMostGeneralDigits, as %.*g does.
void append_general(double value, int digits, std::string& out);

/// Append `digits` digits after the point, at most 17, as %.*f and %.*e do.
void append_fixed(double value, int digits, std::string& out);
void append_scientific(double value, int digits, std::string& out);

/// Appends the fewest digits that distinguish it from every other double, without an exponent from 1e-4 to
/// 1e16.
void append_shortest(double value, std::string& out);

void append_integer(std::int64_t value, std::string& out);
void append_integer(std::uint64_t value, std::string& out);
/// Appends high * 2^64 + low.
void append_integer(std::int64_t high, std::uint64_t low, std::string& out);

/// Appends all 16 digits, without 0x.
void append_hex(std::uint64_t value, std::string& out);
/// Appends the number without 0x and without leading zeros.
void append_short_hex(std::uint64_t value, std::string& out);
/// Appends two digits for each byte.
void append_hex(std::span<const unsigned char> bytes, std::string& out);
/// Returns the number with 0x and without leading zeros.
std::string hex_text(std::uint64_t value);
/// Returns "stream 0x5581e0" for a CUstream, or what its special values mean.
std::string stream_text(std::uint64_t stream);

/// Append the fewest characters that distinguish it from every other number of its type. Non-finite values
/// become one of the strings "NaN", "-NaN", "Infinity", "-Infinity".
void append_json_number(double value, std::string& out);
void append_json_number(float value, std::string& out);

/// Returns six significant digits.
std::string number_text(double value);

}  // namespace aoti_dbg
