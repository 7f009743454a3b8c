// Numbers as text, whatever the program's locale, and without allocating beyond what `out` needs: as C++
// streams write them, since PyTorch's printer uses std::cout, and as JSON has them.
#pragma once

#include <cstdint>
#include <string>

namespace aoti_dbg {

inline constexpr int kMostGeneralDigits = 9;

/// So many significant digits, at most kMostGeneralDigits, as %.*g.
void append_general(double value, int digits, std::string& out);

/// With so many digits after the point, at most 17: as %.*f, as %.*e.
void append_fixed(double value, int digits, std::string& out);
void append_scientific(double value, int digits, std::string& out);

/// As few digits as tell it from every other double; without an exponent from 1e-4 to 1e16.
void append_shortest(double value, std::string& out);

void append_integer(std::int64_t value, std::string& out);
void append_integer(std::uint64_t value, std::string& out);
/// high * 2^64 + low
void append_integer(std::int64_t high, std::uint64_t low, std::string& out);

/// All 16 digits, without 0x.
void append_hex(std::uint64_t value, std::string& out);
/// Without leading zeros, too.
void append_short_hex(std::uint64_t value, std::string& out);

/// As few characters as tell it from every other number of its type; what is not finite as one of the strings
/// "NaN", "-NaN", "Infinity", "-Infinity".
void append_json_number(double value, std::string& out);
void append_json_number(float value, std::string& out);

/// Six significant digits.
std::string number_text(double value);

}  // namespace aoti_dbg
