// std::to_chars is exact, but slow for a fixed number of digits. Every tensor needs %.6g several times, so
// that has a faster path: one 64 by 64-bit product with a power of ten. The error of the product is known. If
// that error could change a digit, std::to_chars decides.
#include "serializer/number_text.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <string_view>

#include "serializer/powers_of_ten.hpp"
#include "serializer/shortest_decimal.hpp"
#include "serializer/text_pen.hpp"

namespace aoti_dbg {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

__extension__ using Wide = unsigned __int128;

/// value = 0.ddd * 10^(point), with a fixed number of digits.
struct Decimal {
    std::uint32_t digits = 0;
    std::int32_t exponent = 0;  // of the first digit
};

/// Converts a normal positive number. Returns false if the product is too close to the middle between two
/// results.
bool to_decimal(std::uint64_t bits, int digits, Decimal& decimal) {
    const std::uint64_t mantissa = (bits | (1ULL << 52U)) << 11U;
    const int exponent = static_cast<int>(bits >> 52U) - 1023;  // of the first bit
    // floor(exponent * log10(2)): the first digit's exponent, or one less.
    int first = (exponent * 78913) >> 18;
    for (;; ++first) {
        const PowerOfTen& power = power_of_ten(digits - 1 - first);
        const Wide product = static_cast<Wide>(mantissa) * power.high;
        // product * 2^-shift is the unrounded number. It is less than 10^10, so shift is more than 92.
        const auto shift = static_cast<unsigned>(63 - exponent - power.exponent - 64);
        auto whole = static_cast<std::uint64_t>(product >> shift);
        if (whole >= kSmallPowers[static_cast<std::size_t>(digits)]) continue;
        const Wide rest = product & ((static_cast<Wide>(1) << shift) - 1);
        const Wide half = static_cast<Wide>(1) << (shift - 1);
        // The power is truncated by less than one unit, so the product is off by less than 2^65.
        if (rest > half) {
            ++whole;
        } else if (half - rest <= (static_cast<Wide>(1) << 65U)) {
            return false;
        }
        if (whole == kSmallPowers[static_cast<std::size_t>(digits)]) {
            whole /= 10;
            ++first;
        }
        decimal = {static_cast<std::uint32_t>(whole), first};
        return true;
    }
}

// %.17f of the largest double has 327 characters.
using Buffer = std::array<char, 352>;

template <typename... Arguments>
void append_chars(std::string& out, Arguments... arguments) {
    Buffer buffer;
    const std::to_chars_result result =
        std::to_chars(buffer.data(), buffer.data() + buffer.size(), arguments...);
    // The overload for two iterators takes twice the instructions.
    out.append(buffer.data(), static_cast<std::size_t>(result.ptr - buffer.data()));
}

template <typename Float>
void append_json(Float value, std::string& out) {
    if (value - value == 0) {
        char text[kRoomOfNumber];
        const char* const end = write_shortest(shortest_decimal(value), text);
        if (end == nullptr) return append_chars(out, value);
        out.append(text, static_cast<std::size_t>(end - text));
        return;
    }
    if (std::signbit(value)) {
        out += value != value ? R"("-NaN")" : R"("-Infinity")";
    } else {
        out += value != value ? R"("NaN")" : R"("Infinity")";
    }
}

}  // namespace

void append_general(double value, int digits, std::string& out) {
    const auto bits = __builtin_bit_cast(std::uint64_t, value);
    const std::uint64_t size = bits & ~(1ULL << 63U);
    const std::uint64_t exponent = size >> 52U;
    Decimal decimal;
    if (exponent == 0 || exponent == 0x7ff || !to_decimal(size, digits, decimal)) {
        return append_chars(out, value, std::chars_format::general, digits);
    }
    char text[kRoomOfNumber];
    char* at = text;
    if (size != bits) *at++ = '-';
    const char* const end = lay_out_general(decimal.digits, digits, decimal.exponent, at);
    out.append(text, static_cast<std::size_t>(end - text));
}

void append_fixed(double value, int digits, std::string& out) {
    append_chars(out, value, std::chars_format::fixed, digits);
}

void append_scientific(double value, int digits, std::string& out) {
    append_chars(out, value, std::chars_format::scientific, digits);
}

void append_shortest(double value, std::string& out) {
    const double size = std::fabs(value);
    const bool is_plain = size >= 1e-4 && size < 1e16;
    if (size == 0 || size - size != 0) return append_general(value, 6, out);
    append_chars(out, value, is_plain ? std::chars_format::fixed : std::chars_format::scientific);
}

void append_integer(std::int64_t value, std::string& out) {
    if (value < 0) out += '-';
    const auto bits = static_cast<std::uint64_t>(value);
    append_integer(value < 0 ? std::uint64_t{0} - bits : bits, out);
}

void append_integer(std::uint64_t value, std::string& out) {
    char text[20];
    char* const end = text + sizeof text;
    const char* const start = write_digits_before(value, end);
    out.append(start, static_cast<std::size_t>(end - start));
}

void append_integer(std::int64_t high, std::uint64_t low, std::string& out) {
    Wide value = static_cast<Wide>(static_cast<std::uint64_t>(high)) << 64U | low;
    if (high < 0) {
        out += '-';
        value = -value;
    }
    if (value >> 64U == 0) return append_integer(static_cast<std::uint64_t>(value), out);
    char text[40];
    char* const end = text + sizeof text;
    const char* const start = write_digits_before(value, end);
    out.append(start, static_cast<std::size_t>(end - start));
}

void append_hex(std::uint64_t value, std::string& out) {
    char text[16];
    for (unsigned i = 16; i-- > 0; value >>= 4U)
        text[i] = kHexDigits[value & 15U];
    out.append(text, sizeof text);
}

void append_short_hex(std::uint64_t value, std::string& out) {
    char text[16];
    char* at = text + sizeof text;
    do
        *--at = kHexDigits[value & 15U];
    while ((value >>= 4U) != 0);
    out.append(at, static_cast<std::size_t>(text + sizeof text - at));
}

void append_hex(std::span<const unsigned char> bytes, std::string& out) {
    for (const unsigned char byte : bytes) {
        out += kHexDigits[byte >> 4U];
        out += kHexDigits[byte & 15U];
    }
}

std::string hex_text(std::uint64_t value) {
    std::string text = "0x";
    append_short_hex(value, text);
    return text;
}

std::string stream_text(std::uint64_t stream) {
    constexpr std::uint64_t kLegacy = 1;  // as in cuda.h
    constexpr std::uint64_t kPerThread = 2;
    if (stream == 0 || stream == kLegacy) return "the legacy stream";
    if (stream == kPerThread) return "the per-thread default stream";
    return "stream " + hex_text(stream);
}

void append_json_number(double value, std::string& out) {
    append_json(value, out);
}

void append_json_number(float value, std::string& out) {
    append_json(value, out);
}

std::string number_text(double value) {
    std::string text;
    append_general(value, 6, text);
    return text;
}

}  // namespace aoti_dbg
