// What we say of a tensor, and what of it is wanted. README.md is the definition; finish() is where the
// propagation of NaN and Inf is written down in code, for the CPU and the CUDA kernels alike.
#pragma once

#include <cstdint>

#include "stats_kernels/partial.hpp"
#include "stats_kernels/tensor_view.hpp"

namespace aoti_dbg {

/// Which statistics. Each costs something of its own; what was not wanted is left as in an empty tensor.
enum class Wanted : std::uint8_t {
    nothing = 0,
    findings = 1,  // NaN, +Inf, -Inf: how many
    printed = 2,   // findings; zeros, minimum, maximum, mean, standard deviation, exact sum of integers
    indices = 4,   // printed; where minimum, maximum, first NaN and first of what is not finite are
    hash = 8,
};

AOTI_DBG_HOST_DEVICE constexpr Wanted operator|(Wanted a, Wanted b) {
    return static_cast<Wanted>(static_cast<std::uint8_t>(a) | static_cast<std::uint8_t>(b));
}
AOTI_DBG_HOST_DEVICE constexpr bool wants(Wanted set, Wanted any_of) {
    return (static_cast<std::uint8_t>(set) & static_cast<std::uint8_t>(any_of)) != 0;
}

/// Whether the logical index of an element matters: if not, a tensor may be walked as it lies in memory.
AOTI_DBG_HOST_DEVICE constexpr bool depends_on_order(Wanted set) {
    return wants(set, Wanted::indices | Wanted::hash);
}

/// A minimum or a maximum: of a float kind as double, of an integer exactly.
struct Number {
    enum class Kind : std::uint8_t { floating, signed_integer, unsigned_integer };
    Kind kind = Kind::floating;
    double floating = 0;
    std::int64_t signed_integer = 0;
    std::uint64_t unsigned_integer = 0;

    /// Rounded, where it is an integer beyond 2^53.
    [[nodiscard]] double as_double() const;
};

/// Of a set of numbers. Without any, minimum and maximum are NaN, of integers 0; see README.md.
struct Moments {
    std::uint64_t count = 0;
    Number minimum;
    Number maximum;
    double mean = 0;
    double standard_deviation = 0;  // unbiased: divided by count - 1
};

struct RealStatistics {
    std::uint64_t nan = 0;
    std::uint64_t positive_infinity = 0;
    std::uint64_t negative_infinity = 0;
    std::uint64_t zeros = 0;  // of both signs
    Moments all;              // NaN and Inf propagate as in torch
    Moments finite;
    std::uint64_t minimum_index = kNoIndex;  // of all: the first NaN where there is one, as torch.argmin
    std::uint64_t maximum_index = kNoIndex;
    // Known without `indices` too, where the tensor lies in memory in its logical order.
    std::uint64_t first_nan = kNoIndex;
    std::uint64_t first_nonfinite = kNoIndex;
    std::int64_t sum_high = 0;  // of integers, exact: sum_high * 2^64 + sum_low
    std::uint64_t sum_low = 0;
};

struct TensorStatistics {
    DType dtype = DType::float32;
    Wanted wanted = Wanted::nothing;
    std::uint64_t count = 0;
    RealStatistics real;  // of a complex tensor the real parts
    RealStatistics imaginary;
    std::uint64_t hash = 0;
};

/// `partial` covers all elements of `tensor`, whose data is not read.
TensorStatistics finish(const TensorPartial& partial, const TensorView& tensor, Wanted wanted);

}  // namespace aoti_dbg
