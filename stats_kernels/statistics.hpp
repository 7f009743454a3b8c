// The statistics of a tensor, and which of them are requested. README.md defines them. finish() implements
// the propagation of NaN and Inf for both the CPU and the CUDA kernels.
#pragma once

#include <cstdint>

#include "stats_kernels/partial.hpp"
#include "stats_kernels/tensor_view.hpp"

namespace aoti_dbg {

/// The requested statistics. Each has a cost of its own. Statistics that were not requested are as in an
/// empty tensor.
enum class Requested : std::uint8_t {
    nothing = 0,
    findings = 1,  // the numbers of NaN, +Inf and -Inf
    printed = 2,   // findings, zeros, minimum, maximum, mean, standard deviation, exact sum of integers
    indices = 4,   // printed, and the indices of minimum, maximum, first NaN and first non-finite element
    hash = 8,
};

AOTI_DBG_HOST_DEVICE constexpr Requested operator|(Requested a, Requested b) {
    return static_cast<Requested>(static_cast<std::uint8_t>(a) | static_cast<std::uint8_t>(b));
}
AOTI_DBG_HOST_DEVICE constexpr bool wants(Requested set, Requested any_of) {
    return (static_cast<std::uint8_t>(set) & static_cast<std::uint8_t>(any_of)) != 0;
}

/// Returns whether logical indices matter. If not, a tensor may be read in memory order.
AOTI_DBG_HOST_DEVICE constexpr bool depends_on_order(Requested set) {
    return wants(set, Requested::indices | Requested::hash);
}

/// A minimum or maximum: a double for float kinds, exact for integers.
struct Number {
    enum class Kind : std::uint8_t { floating, signed_integer, unsigned_integer };
    Kind kind = Kind::floating;
    double floating = 0;
    std::int64_t signed_integer = 0;
    std::uint64_t unsigned_integer = 0;

    /// Rounds an integer beyond 2^53.
    [[nodiscard]] double as_double() const;
};

/// The moments of a set of numbers. For an empty set, minimum and maximum are NaN, for integers 0 (see
/// README.md).
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
    std::uint64_t minimum_index =
        kNoIndex;  // over all elements: the first NaN if there is one, as in torch.argmin
    std::uint64_t maximum_index = kNoIndex;
    // Also known without `indices` if the tensor is in memory in its logical order.
    std::uint64_t first_nan = kNoIndex;
    std::uint64_t first_nonfinite = kNoIndex;
    std::int64_t sum_high = 0;  // of integers, exact: sum_high * 2^64 + sum_low
    std::uint64_t sum_low = 0;
};

struct TensorStatistics {
    DType dtype = DType::float32;
    Requested requested = Requested::nothing;
    std::uint64_t count = 0;
    RealStatistics real;  // the real parts of a complex tensor
    RealStatistics imaginary;
    std::uint64_t hash = 0;
};

/// `partial` must cover all elements of `tensor`. The tensor's data is not read.
TensorStatistics finish(const TensorPartial& partial, const TensorView& tensor, Requested requested);

}  // namespace aoti_dbg
