// Powers of ten for the conversion of floating-point numbers to digits.
#pragma once

#include <cstdint>

namespace aoti_dbg {

/// 10^k as mantissa * 2^exponent. The mantissa has 128 bits, and its first bit is set. It is too small by
/// less than one part in 2^114.
struct PowerOfTen {
    std::uint64_t high = 0;  // of the mantissa; these bits are exact
    std::uint64_t low = 0;
    std::int32_t exponent = 0;
};

inline constexpr int kLowestPower = -312;
inline constexpr int kHighestPower = 325;

/// `k` must be in that range.
const PowerOfTen& power_of_ten(int k);

/// 10^0 to 10^19.
inline constexpr std::uint64_t kSmallPowers[20] = {1ULL,
                                                   10ULL,
                                                   100ULL,
                                                   1000ULL,
                                                   10000ULL,
                                                   100000ULL,
                                                   1000000ULL,
                                                   10000000ULL,
                                                   100000000ULL,
                                                   1000000000ULL,
                                                   10000000000ULL,
                                                   100000000000ULL,
                                                   1000000000000ULL,
                                                   10000000000000ULL,
                                                   100000000000000ULL,
                                                   1000000000000000ULL,
                                                   10000000000000000ULL,
                                                   100000000000000000ULL,
                                                   1000000000000000000ULL,
                                                   10000000000000000000ULL};

}  // namespace aoti_dbg
