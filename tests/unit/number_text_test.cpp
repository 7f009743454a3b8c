// Numbers as text, compared with snprintf, which PyTorch's printer ends up with.
#include "serializer/number_text.hpp"

#include <clocale>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>

#include "tests/support/catch.hpp"
#include "tests/support/random.hpp"

namespace aoti_dbg::number_text_test {
namespace {

constexpr int kRounds = 200000;

std::string general(double value, int digits) {
    std::string text;
    append_general(value, digits, text);
    return text;
}

std::string printed(const char* format, int digits, double value) {
    char text[400];
    snprintf(text, sizeof text, format, digits, value);
    return text;
}

/// Whether the text equals that of snprintf, for each number of digits in use and for the maximum.
bool is_as_printed(double value) {
    for (const int digits : {4, 6, kMostGeneralDigits}) {
        if (general(value, digits) != printed("%.*g", digits, value)) return false;
    }
    return true;
}

double from_text(const std::string& text) {
    return std::strtod(text.c_str(), nullptr);
}

void check(double value) {
    if (is_as_printed(value)) return;
    CAPTURE(printed("%.*a", 13, value), general(value, 6));
    REQUIRE(is_as_printed(value));
}

std::string shortest(double value) {
    std::string text;
    append_shortest(value, text);
    return text;
}

std::string json(double value) {
    std::string text;
    append_json_number(value, text);
    return text;
}

std::string json(float value) {
    std::string text;
    append_json_number(value, text);
    return text;
}

using Limits = std::numeric_limits<double>;

TEST_CASE("Special numbers are written as printf writes them") {
    for (const double value : {0.0, -0.0, Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(),
                               -Limits::quiet_NaN(), Limits::denorm_min(), Limits::min(), Limits::max(),
                               -Limits::max(), std::nextafter(Limits::min(), 0.0)})
        check(value);
}

TEST_CASE("Numbers exactly between two texts are rounded to even, as printf does") {
    CHECK(general(0.5, 6) == "0.5");
    CHECK(general(1000000.5, 6) == "1e+06");
    CHECK(general(1000005, 6) == "1e+06");
    CHECK(general(1000015, 6) == "1.00002e+06");
    CHECK(general(1000025, 6) == "1.00002e+06");
    CHECK(general(0.00001234565, 6) == printed("%.*g", 6, 0.00001234565));
    Random random;
    for (int round = 0; round < kRounds; ++round) {
        // A whole number of 6 digits and a half, shifted: exact in double, and exactly in the middle.
        const auto odd = static_cast<double>(random.below(2000001)) + 0.5;
        check(std::ldexp(odd, static_cast<int>(random.below(40)) - 20));
        check(static_cast<double>(random.below(10000000)) * 1000 + 500);
    }
}

TEST_CASE("Every power of ten and its neighbors are written as printf writes them") {
    for (int exponent = -324; exponent <= 308; ++exponent) {
        const double value = from_text("1e" + std::to_string(exponent));
        check(value);
        check(std::nextafter(value, 0.0));
        check(std::nextafter(value, Limits::infinity()));
        check(from_text("9.999995e" + std::to_string(exponent)));
        check(-from_text("9.9999949e" + std::to_string(exponent)));
    }
}

TEST_CASE("Random numbers of every size are written as printf writes them") {
    Random random;
    for (int round = 0; round < kRounds; ++round) {
        check(__builtin_bit_cast(double, random.bits()));
        check(static_cast<double>(static_cast<float>(static_cast<std::int64_t>(random.bits()))) * 0x1p-63);
        check(static_cast<double>(random.bits() >> random.below(64)));
        check(from_text(std::to_string(100000 + random.below(900000)) + "5e" +
                        std::to_string(static_cast<int>(random.below(600)) - 310)));
    }
}

TEST_CASE("The number of digits after the point is the requested one") {
    std::string text;
    append_fixed(-0.25, 4, text);
    text += ' ';
    append_fixed(Limits::max(), 17, text);
    text += ' ';
    append_scientific(123456.0, 4, text);
    CHECK(text == "-0.2500 " + printed("%.*f", 17, Limits::max()) + " 1.2346e+05");
}

TEST_CASE("The shortest text distinguishes a number from every other") {
    CHECK(shortest(1.0 / 3) == "0.3333333333333333");
    CHECK(shortest(0.1F) == "0.10000000149011612");
    CHECK(shortest(1e-4) == "0.0001");
    CHECK(shortest(9.5e-5) == "9.5e-05");
    CHECK(shortest(1e15) == "1000000000000000");
    CHECK(shortest(1e16) == "1e+16");
    CHECK(shortest(-0.0) == "-0");
    CHECK(shortest(-Limits::infinity()) == "-inf");
    Random random;
    for (int round = 0; round < kRounds; ++round) {
        const double value = __builtin_bit_cast(double, random.bits());
        if (value - value != 0) continue;
        REQUIRE(from_text(shortest(value)) == value);
        REQUIRE(from_text(json(value)) == value);
        const auto narrow = __builtin_bit_cast(float, static_cast<std::uint32_t>(random.bits()));
        if (narrow - narrow == 0) REQUIRE(std::strtof(json(narrow).c_str(), nullptr) == narrow);
    }
}

TEST_CASE("JSON has words for numbers that are not finite") {
    CHECK(json(Limits::quiet_NaN()) == "\"NaN\"");
    CHECK(json(-Limits::quiet_NaN()) == "\"-NaN\"");
    CHECK(json(Limits::infinity()) == "\"Infinity\"");
    CHECK(json(-std::numeric_limits<float>::infinity()) == "\"-Infinity\"");
    CHECK(json(0.1F) == "0.1");
}

TEST_CASE("Integers are written exactly, of 128 bits too") {
    std::string text;
    append_integer(std::numeric_limits<std::int64_t>::min(), text);
    text += ' ';
    append_integer(std::numeric_limits<std::uint64_t>::max(), text);
    text += ' ';
    append_integer(std::int64_t{1}, std::uint64_t{0}, text);
    text += ' ';
    append_integer(std::int64_t{-1}, ~std::uint64_t{0}, text);
    text += ' ';
    append_integer(std::int64_t{0}, std::uint64_t{0}, text);
    text += ' ';
    append_integer(std::numeric_limits<std::int64_t>::min(), std::uint64_t{0}, text);
    text += ' ';
    append_hex(0x0123456789abcdefU, text);
    CHECK(text ==
          "-9223372036854775808 18446744073709551615 18446744073709551616 -1 0 "
          "-170141183460469231731687303715884105728 0123456789abcdef");
}

TEST_CASE("Addresses and bytes are written in lower-case hexadecimal digits") {
    CHECK(hex_text(0) == "0x0");
    CHECK(hex_text(0x7f00deadbeefU) == "0x7f00deadbeef");
    CHECK(hex_text(~std::uint64_t{0}) == "0xffffffffffffffff");
    const unsigned char bytes[] = {0x00, 0x0a, 0xff};
    std::string text = "id ";
    append_hex(bytes, text);
    CHECK(text == "id 000aff");
}

TEST_CASE("Numbers are written alike in every locale") {
    const char* found = std::setlocale(LC_ALL, "de_DE.UTF-8");
    if (found == nullptr) found = std::setlocale(LC_ALL, "fr_FR.UTF-8");
    CHECK(number_text(0.5) == "0.5");
    CHECK(number_text(Limits::denorm_min()) == "4.94066e-324");
    CHECK(shortest(1.0 / 3) == "0.3333333333333333");
    CHECK(json(0.25) == "0.25");
    if (found != nullptr) std::setlocale(LC_ALL, "C");
}

}  // namespace
}  // namespace aoti_dbg::number_text_test
