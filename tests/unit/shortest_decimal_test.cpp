// The digits of numbers against std::to_chars and printf. Numbers without digits come first, then hard cases,
// then random numbers of all kinds.
#include "serializer/shortest_decimal.hpp"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>
#include <string>

#include "tests/support/catch.hpp"

namespace aoti_dbg::shortest_decimal_test {
namespace {

template <typename Float>
std::string shortest(Float value) {
    char text[kRoomOfNumber];
    const char* const end = write_shortest(shortest_decimal(value), text);
    return end == nullptr ? std::string() : std::string(text, static_cast<std::size_t>(end - text));
}

template <typename Float>
std::string general(Float value) {
    char text[kRoomOfNumber];
    const char* const end = write_general(shortest_decimal(value), text);
    return end == nullptr ? std::string() : std::string(text, static_cast<std::size_t>(end - text));
}

template <typename Float>
std::string expected_shortest(Float value) {
    char text[64];
    const char* const end = std::to_chars(text, text + sizeof text, value).ptr;
    return std::string(text, static_cast<std::size_t>(end - text));
}

std::string expected_general(double value) {
    char text[64];
    std::snprintf(text, sizeof text, "%.6g", value);
    return text;
}

/// Counts how often a function left the number to others.
struct Left {
    int shortest = 0;
    int general = 0;
};

template <typename Float>
void compare(Float value, Left& left) {
    const std::string digits = shortest(value);
    const std::string six = general(value);
    if (digits.empty()) ++left.shortest;
    if (six.empty()) ++left.general;
    if (!digits.empty() && digits != expected_shortest(value)) CHECK(digits == expected_shortest(value));
    const std::string expected = expected_general(static_cast<double>(value));
    if (!six.empty() && six != expected) CHECK(six == expected);
}

template <typename Float, typename Bits>
Float float_of(Bits bits) {
    Float value;
    static_assert(sizeof value == sizeof bits);
    memcpy(&value, &bits, sizeof value);
    return value;
}

}  // namespace

TEST_CASE("Subnormal and non-finite numbers are left to others") {
    using Limits = std::numeric_limits<double>;
    for (const double value : {Limits::denorm_min(), Limits::min() / 2, Limits::infinity(),
                               -Limits::infinity(), Limits::quiet_NaN()}) {
        CHECK(shortest(value).empty());
        CHECK(general(value).empty());
        CHECK(shortest(static_cast<float>(value)).size() <= 1);  // small ones become 0
    }
}

TEST_CASE("Zeros, powers of two and limits have the digits of std::to_chars") {
    CHECK(shortest(0.0) == "0");
    CHECK(shortest(-0.0) == "-0");
    CHECK(general(-0.0) == "-0");
    CHECK(shortest(1e5) == "1e+05");
    CHECK(shortest(1.5e6) == "1500000");
    CHECK(shortest(1e-4) == "1e-04");
    CHECK(shortest(0.0012) == "0.0012");
    CHECK(general(999999.5) == "");  // the middle between two results
    CHECK(general(999999.6) == "1e+06");
    Left left;
    compare(std::numeric_limits<double>::max(), left);
    compare(std::numeric_limits<double>::min(), left);
    compare(std::numeric_limits<float>::max(), left);
    compare(std::numeric_limits<float>::min(), left);
    for (int exponent = -1022; exponent < 1024; ++exponent) {
        const double power = std::ldexp(1.0, exponent);
        for (const double value : {power, std::nextafter(power, 0.0), std::nextafter(power, 2 * power)})
            compare(value, left);
        if (exponent >= -126 && exponent < 128) compare(static_cast<float>(power), left);
    }
}

TEST_CASE("Random numbers have the digits of std::to_chars") {
    constexpr int kNumbers = 100000;
    std::mt19937_64 random(1);  // NOLINT(cert-msc51-cpp): tests repeat
    Left of_all;
    Left of_usual;
    for (int i = 0; i < kNumbers; ++i) {
        compare(float_of<double>(random()), of_all);
        compare(float_of<float>(static_cast<std::uint32_t>(random())), of_all);
        const double decimal = static_cast<double>(random() % 10'000'000) * std::pow(10, random() % 16 - 8.0);
        compare(decimal, of_all);
        compare(static_cast<float>(decimal), of_all);
        const double usual = std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 40) - 84);
        compare(usual, of_usual);
        compare(-static_cast<float>(usual), of_usual);
    }
    // Statistics of usual tensors seldom need the slow path: half of these numbers are float, and some of
    // them lie in the middle between two results.
    CHECK(of_usual.shortest < kNumbers / 100);
    CHECK(of_usual.general < kNumbers / 20);
}

}  // namespace aoti_dbg::shortest_decimal_test
