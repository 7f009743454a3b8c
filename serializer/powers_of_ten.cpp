#include "serializer/powers_of_ten.hpp"

#include <array>
#include <cstddef>

namespace aoti_dbg {
namespace {

__extension__ using Wide = unsigned __int128;

using PowersOfTen = std::array<PowerOfTen, kHighestPower - kLowestPower + 1>;

/// Computes in 128 bits. A step loses less than one part in 2^123, so all steps together lose less than one
/// in 2^114.
constexpr PowersOfTen make_powers() {
    PowersOfTen powers{};
    constexpr Wide kFirstBit = static_cast<Wide>(1) << 127U;
    const auto keep = [&powers](int k, Wide mantissa, int exponent) {
        powers[static_cast<std::size_t>(k - kLowestPower)] = {static_cast<std::uint64_t>(mantissa >> 64U),
                                                              static_cast<std::uint64_t>(mantissa), exponent};
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

}  // namespace

const PowerOfTen& power_of_ten(int k) {
    return kPowers[static_cast<std::size_t>(k - kLowestPower)];
}

}  // namespace aoti_dbg
