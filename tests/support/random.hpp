// Random numbers that are the same on every machine, unlike the distributions of <random>.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>

namespace aoti_dbg {

/// xorshift64*
class Random {
  public:
    explicit Random(std::uint64_t seed = 0x4F1BBCDCBFA53E0AULL) : state_(seed * 2 + 1) {}
    std::uint64_t bits() {
        state_ ^= state_ >> 12U;
        state_ ^= state_ << 25U;
        state_ ^= state_ >> 27U;
        return state_ * 0x2545F4914F6CDD1DULL;
    }
    std::size_t below(std::size_t bound) {
        const std::uint64_t drawn = bits();
        return bound == 0 ? 0 : static_cast<std::size_t>(drawn >> 33U) % bound;
    }
    bool one_in(std::size_t bound) { return below(bound) == 0; }
    template <typename List>
    const auto& one_of(const List& list) {
        return *(std::begin(list) + static_cast<std::ptrdiff_t>(below(std::size(list))));
    }

  private:
    std::uint64_t state_;
};

}  // namespace aoti_dbg
