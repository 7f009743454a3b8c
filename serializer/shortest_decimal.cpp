#include "serializer/shortest_decimal.hpp"

#include <bit>
#include <cstddef>
#include <cstring>
#include <initializer_list>

#include "serializer/powers_of_ten.hpp"

namespace aoti_dbg {
namespace {

__extension__ using Wide = unsigned __int128;

/// Fractions have this many bits, so that ten of them fit into 64.
constexpr unsigned kFractionBits = 60;
constexpr std::uint64_t kUnit = std::uint64_t{1} << kFractionBits;

/// The product is too small by at most nine units of a fraction.
constexpr std::uint64_t kError = 16;

constexpr int kGeneralDigits = 6;

bool is_close(std::uint64_t one, std::uint64_t other) {
    return (one > other ? one - other : other - one) <= kError;
}

std::int32_t length_of(std::uint64_t digits) {
    const int about = (static_cast<int>(std::bit_width(digits)) * 1233) >> 12;
    return about + (digits >= kSmallPowers[about] ? 1 : 0);
}

void strip_zeros(ShortestDecimal& decimal) {
    if (decimal.digits % 10 != 0) return;
    for (const int zeros : {8, 4, 2, 1}) {
        const std::uint64_t power = kSmallPowers[zeros];
        for (; decimal.digits % power == 0; decimal.exponent += zeros)
            decimal.digits /= power;
    }
}

/// Finds the digits of mantissa * 2^exponent. All numbers that are less than half a unit of the mantissa away
/// read back as this number; below a power of two, a quarter.
bool find_digits(std::uint64_t mantissa, int exponent, bool is_power_of_two, ShortestDecimal& to) {
    // With this power, the unit of the mantissa becomes a number from 1 to 10. So the numbers that read back
    // include an integer, and at most one multiple of ten.
    const int k = -((exponent * 1262611) >> 22);  // floor(exponent * log10(2))
    const PowerOfTen& power = power_of_ten(k);
    const auto zeros = static_cast<int>(std::countl_zero(mantissa));
    const std::uint64_t first = mantissa << zeros;
    const Wide product = static_cast<Wide>(first) * power.high +
                         static_cast<std::uint64_t>((static_cast<Wide>(first) * power.low) >> 64U);
    const auto shift = static_cast<unsigned>(zeros - exponent - power.exponent - 64);
    const auto whole = static_cast<std::uint64_t>(product >> shift);
    const std::uint64_t fraction =
        static_cast<std::uint64_t>(product >> (shift - kFractionBits)) & (kUnit - 1);
    const Wide unit = static_cast<Wide>(power.high) << 64U | power.low;
    const auto half =
        static_cast<std::uint64_t>(unit >> static_cast<unsigned>(1 - exponent - power.exponent - 60));
    const std::uint64_t half_below = is_power_of_two ? half / 2 : half;

    const std::uint64_t tens = whole / 10;
    const std::uint64_t below = (whole - tens * 10) * kUnit + fraction;
    const std::uint64_t above = 10 * kUnit - below;
    if (is_close(below, half_below) || is_close(above, half)) return false;
    if (below < half_below || above < half) {
        to.digits = tens + (below < half_below ? 0 : 1);
        to.exponent = 1 - k;
        strip_zeros(to);
        return true;
    }
    if (is_close(fraction, kUnit / 2)) return false;
    const bool is_up = fraction > kUnit / 2;
    if (is_up ? kUnit - fraction + kError >= half : fraction + kError >= half_below) return false;
    to.digits = whole + (is_up ? 1 : 0);
    to.exponent = -k;
    return true;
}

template <typename Float, typename Bits, int kMantissaBits, int kBias>
ShortestDecimal decimal_of(Float value) {
    constexpr Bits kHidden = Bits{1} << kMantissaBits;
    constexpr Bits kSign = Bits{1} << (sizeof(Bits) * 8 - 1);
    constexpr int kMostExponent = 2 * kBias + 1;
    const auto bits = std::bit_cast<Bits>(value);
    const auto exponent = static_cast<int>((bits & ~kSign) >> kMantissaBits);
    ShortestDecimal decimal;
    decimal.is_negative = (bits & kSign) != 0;
    decimal.is_float = sizeof(Float) == sizeof(float);
    if ((bits & ~kSign) == 0) {
        decimal.length = 1;
        return decimal;
    }
    if (exponent == 0 || exponent == kMostExponent) return decimal;
    const Bits fraction = bits & (kHidden - 1);
    if (find_digits(fraction | kHidden, exponent - kBias - kMantissaBits, fraction == 0, decimal))
        decimal.length = length_of(decimal.digits);
    return decimal;
}

// Text is copied in pieces of this size, so buffers have that much room after their contents.
constexpr std::size_t kDigitsAtOnce = 16;

void copy_piece(char* to, const char* from) {
    char piece[kDigitsAtOnce];
    memcpy(piece, from, kDigitsAtOnce);
    memcpy(to, piece, kDigitsAtOnce);
}

void copy_digits(char* to, const char* from) {
    copy_piece(to, from);
    copy_piece(to + kDigitsAtOnce, from + kDigitsAtOnce);
}

/// Writes all eight digits of a number below 10^8.
void write_eight(std::uint32_t value, char* to) {
    // Each step makes two numbers of each. The first digits are in the lowest byte.
    const std::uint64_t fours = value / 10000 | static_cast<std::uint64_t>(value % 10000) << 32U;
    const std::uint64_t hundreds = ((fours * 10486U) >> 20U) & 0x7F0000007FULL;
    const std::uint64_t twos = hundreds | (fours - hundreds * 100) << 16U;
    const std::uint64_t tens = ((twos * 103U) >> 10U) & 0x000F000F000F000FULL;
    const std::uint64_t ones = tens | (twos - tens * 10) << 8U;
    const std::uint64_t text = ones | 0x3030303030303030ULL;
    memcpy(to, &text, sizeof text);
}

constexpr std::size_t kMostDigits = 24;

/// Writes digits below 10^17 to the end of kMostDigits bytes. Returns their start.
const char* write_digits(const ShortestDecimal& decimal, char* to) {
    constexpr std::uint64_t kEight = 100'000'000;
    write_eight(static_cast<std::uint32_t>(decimal.digits % kEight), to + 16);
    if (decimal.digits >= kEight) {
        const std::uint64_t rest = decimal.digits / kEight;
        write_eight(static_cast<std::uint32_t>(rest % kEight), to + 8);
        to[7] = static_cast<char>('0' + rest / kEight);
    }
    return to + kMostDigits - decimal.length;
}

char* write_exponent(int exponent, char* at) {
    *at++ = 'e';
    *at++ = exponent < 0 ? '-' : '+';
    const int size = exponent < 0 ? -exponent : exponent;
    if (size >= 100) *at++ = static_cast<char>('0' + size / 100);
    *at++ = static_cast<char>('0' + size / 10 % 10);
    *at++ = static_cast<char>('0' + size % 10);
    return at;
}

}  // namespace

ShortestDecimal shortest_decimal(double value) {
    return decimal_of<double, std::uint64_t, 52, 1023>(value);
}

ShortestDecimal shortest_decimal(float value) {
    return decimal_of<float, std::uint32_t, 23, 127>(value);
}

char* write_shortest(const ShortestDecimal& decimal, char* at) {
    const int length = decimal.length;
    if (length == 0) return nullptr;
    if (decimal.is_negative) *at++ = '-';
    char room[kMostDigits + 2 * kDigitsAtOnce];
    const char* const digits = write_digits(decimal, room);
    const int first = decimal.exponent + length - 1;  // exponent of the first digit
    // std::to_chars takes the shorter format. With one digit, an exponent needs no point before it.
    const int one = length == 1 ? 1 : 0;
    if (decimal.exponent > 5 - one || decimal.exponent < -(length + 3) + one) {
        *at++ = digits[0];
        if (length > 1) {
            *at++ = '.';
            copy_digits(at, digits + 1);
            at += length - 1;
        }
        return write_exponent(first, at);
    }
    if (decimal.exponent >= 0) {
        // std::to_chars writes all digits of an integer, not zeros for those that it does not need.
        if (decimal.exponent > 0 && first >= (decimal.is_float ? 7 : 15)) return nullptr;
        copy_digits(at, digits);
        memcpy(at + length, "00000", 5);
        return at + first + 1;
    }
    if (first >= 0) {
        copy_digits(at, digits);
        at[first + 1] = '.';
        copy_digits(at + first + 2, digits + first + 1);
        return at + length + 1;
    }
    memset(at, '0', kDigitsAtOnce + 8);
    at[1] = '.';
    copy_digits(at + 1 - first, digits);
    return at + 1 - first + length;
}

char* write_general(const ShortestDecimal& decimal, char* at) {
    const int length = decimal.length;
    if (length == 0) return nullptr;
    int first = decimal.exponent + length - 1;
    std::uint64_t digits = decimal.digits;
    if (length <= kGeneralDigits) {
        digits *= kSmallPowers[kGeneralDigits - length];
    } else {
        // The number lies on the same side of a middle between two results as its shortest digits, because
        // such a middle would itself be shorter.
        const std::uint64_t power = kSmallPowers[length - kGeneralDigits];
        const std::uint64_t rest = digits % power;
        digits /= power;
        if (rest == power / 2) return nullptr;
        if (rest > power / 2 && ++digits == kSmallPowers[kGeneralDigits]) {
            digits /= 10;
            ++first;
        }
    }
    if (decimal.is_negative) *at++ = '-';
    return lay_out_general(static_cast<std::uint32_t>(digits), kGeneralDigits, digits == 0 ? 0 : first, at);
}

char* lay_out_general(std::uint32_t digits, int length, int exponent, char* at) {
    char room[kMostDigits + 2 * kDigitsAtOnce] = {};
    ShortestDecimal decimal;
    decimal.digits = digits;
    decimal.length = length;
    const char* const text = write_digits(decimal, room);
    int kept = length;
    while (kept > 1 && text[kept - 1] == '0')
        --kept;
    if (exponent < -4 || exponent >= length) {
        *at++ = text[0];
        if (kept > 1) *at++ = '.';
        copy_piece(at, text + 1);
        return write_exponent(exponent, at + kept - 1);
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

}  // namespace aoti_dbg
