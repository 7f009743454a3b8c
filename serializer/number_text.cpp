// std::to_chars is exact, but slow for a fixed number of digits. Every tensor needs %.6g several times, so
// that has a faster path: one 64 by 64-bit product with a power of ten. The error of the product is known. If
// that error could change a digit, std::to_chars decides.
#include "serializer/number_text.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <string_view>

namespace aoti_dbg {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

__extension__ using Wide = unsigned __int128;

/// 10^k as mantissa * 2^exponent, with the mantissa truncated to 64 bits and its first bit set.
struct PowerOfTen {
    std::uint64_t mantissa = 0;
    std::int32_t exponent = 0;
};

// The powers that give any double up to kMostGeneralDigits digits before the point.
constexpr int kLowestPower = -312;
constexpr int kHighestPower = 320;

using PowersOfTen = std::array<PowerOfTen, kHighestPower - kLowestPower + 1>;

/// Computes in 128 bits. A step loses less than one part in 2^123, so all steps together leave the upper 64
/// bits exact.
constexpr PowersOfTen make_powers() {
    PowersOfTen powers{};
    constexpr Wide kFirstBit = static_cast<Wide>(1) << 127U;
    const auto keep = [&powers](int k, Wide mantissa, int exponent) {
        powers[static_cast<std::size_t>(k - kLowestPower)] = {static_cast<std::uint64_t>(mantissa >> 64U),
                                                              exponent + 64};
    };
    Wide mantissa = kFirstBit;
    int exponent = -127;
    keep(0, mantissa, exponent);
    for (int k = 1; k <= kHighestPower; ++k) {
        mantissa = (mantissa >> 4U) * 10;
        exponent += 4;
        for (; (mantissa & kFirstBit) == 0; --exponent)
            mantissa <<= 1U;
        keep(k, mantissa, exponent);
    }
    mantissa = kFirstBit;
    exponent = -127;
    for (int k = -1; k >= kLowestPower; --k) {
        mantissa /= 10;
        for (; (mantissa & kFirstBit) == 0; --exponent)
            mantissa <<= 1U;
        keep(k, mantissa, exponent);
    }
    return powers;
}

constexpr PowersOfTen kPowers = make_powers();

constexpr std::array<std::uint32_t, kMostGeneralDigits + 1> kSmallPowers = {
    1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000};

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
        const PowerOfTen& power = kPowers[static_cast<std::size_t>(digits - 1 - first - kLowestPower)];
        const Wide product = static_cast<Wide>(mantissa) * power.mantissa;
        // product * 2^-shift is the unrounded number. It is less than 10^10, so shift is more than 92.
        const auto shift = static_cast<unsigned>(63 - exponent - power.exponent);
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

// Text is copied in pieces of this size, so buffers have that much room after their contents.
constexpr std::size_t kPiece = 16;

void copy_piece(char* to, const char* from) {
    char piece[kPiece];
    memcpy(piece, from, kPiece);
    memcpy(to, piece, kPiece);
}

/// "00" to "99".
constexpr std::array<char, 200> make_pairs() {
    std::array<char, 200> pairs{};
    for (std::size_t i = 0; i < 100; ++i) {
        pairs[2 * i] = static_cast<char>('0' + i / 10);
        pairs[2 * i + 1] = static_cast<char>('0' + i % 10);
    }
    return pairs;
}

constexpr std::array<char, 200> kPairs = make_pairs();

/// Writes all digits of `value`, which has `digits` of them. kPiece bytes must be readable.
void write_digits(std::uint32_t value, int digits, char* to) {
    int left = digits;
    for (; left >= 2; value /= 100)
        memcpy(to + (left -= 2), &kPairs[std::size_t{2} * (value % 100)], 2);
    if (left == 1) *to = static_cast<char>('0' + value);
}

/// Lays out digits as %g does: no trailing zeros, and an exponent if the point would be far away.
char* lay_out(Decimal decimal, int digits, char* at) {
    char text[2 * kPiece] = {};
    write_digits(decimal.digits, digits, text);
    int kept = digits;
    while (kept > 1 && text[kept - 1] == '0')
        --kept;
    const int exponent = decimal.exponent;
    if (exponent < -4 || exponent >= digits) {
        *at++ = text[0];
        if (kept > 1) *at++ = '.';
        copy_piece(at, text + 1);
        at += kept - 1;
        *at++ = 'e';
        *at++ = exponent < 0 ? '-' : '+';
        const int size = exponent < 0 ? -exponent : exponent;
        if (size >= 100) *at++ = static_cast<char>('0' + size / 100);
        *at++ = static_cast<char>('0' + size / 10 % 10);
        *at++ = static_cast<char>('0' + size % 10);
        return at;
    }
    if (exponent < 0) {
        memcpy(at, "0.000", 5);
        at += 1 - exponent;
        copy_piece(at, text);
        return at + kept;
    }
    const int before = exponent + 1;
    copy_piece(at, text);  // zeros before the point are among its digits
    if (kept <= before) return at + before;
    at[before] = '.';
    copy_piece(at + before + 1, text + before);
    return at + kept + 1;
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

/// Writes the digits of a number before `end`. Returns their start.
template <typename Number>
inline char* put_digits(Number value, char* end) {
    for (; value >= 100; value /= 100) {
        end -= 2;
        memcpy(end, &kPairs[2 * static_cast<std::size_t>(value % 100)], 2);
    }
    if (value >= 10) {
        end -= 2;
        memcpy(end, &kPairs[2 * static_cast<std::size_t>(value)], 2);
    } else {
        *--end = static_cast<char>('0' + static_cast<int>(value));
    }
    return end;
}

template <typename Float>
void append_json(Float value, std::string& out) {
    if (value - value == 0) return append_chars(out, value);
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
    char text[4 * kPiece];
    char* at = text;
    if (size != bits) *at++ = '-';
    out.append(text, static_cast<std::size_t>(lay_out(decimal, digits, at) - text));
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
    const char* const start = put_digits(value, end);
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
    const char* const start = put_digits(value, end);
    out.append(start, static_cast<std::size_t>(end - start));
}

void append_hex(std::uint64_t value, std::string& out) {
    char text[16];
    for (unsigned i = 16; i-- > 0; value >>= 4U)
        text[i] = kHexDigits[value & 15U];
    out.append(text, sizeof text);
}

void append_short_hex(std::uint64_t value, std::string& out) {
    append_chars(out, value, 16);
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
