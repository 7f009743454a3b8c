// The inner loops of the CPU implementation, over blocks that fit the first-level cache. They are compiled
// for the baseline processor and for x86-64-v3. A function call selects the version. An ifunc would run
// before the library is relocated.
#pragma once

#include <cstdint>

#include "stats_kernels/tensor_view.hpp"

namespace aoti_dbg {

/// The elements of a block, a multiple of the loops' step and of a hash group.
inline constexpr std::uint32_t kBlockElements = 512;

/// Summarizes numbers relative to one of them, to avoid cancellation.
struct BlockSummary {
    double shift = 0;
    double sum = 0;      // of the distances from shift
    double squares = 0;  // of their squares; finite exactly if all numbers are and no square overflows
    double minimum = 0;
    double maximum = 0;
    std::uint64_t zeros = 0;
};

struct BlockKernels {
    const char* name;
    /// Decodes `count` numbers exactly. `raw` has contiguous elements of `dtype` at any address. The dtype is
    /// neither complex nor a 64-bit integer.
    void (*decode)(DType dtype, const unsigned char* raw, std::uint32_t count, double* numbers);
    /// `numbers` has room for kBlockElements. Elements after `count` are overwritten. `count` > 0.
    void (*summarise)(double* numbers, std::uint32_t count, BlockSummary& summary);
    /// Returns whether any element is Inf or NaN, by its bits. The dtype is a float kind that
    /// has Inf or NaN, and not complex.
    bool (*any_special)(DType dtype, const unsigned char* raw, std::uint32_t count);
};

/// Each returns null if the build or the processor does not support it.
const BlockKernels* baseline_block_kernels();
const BlockKernels* x86_64_v3_block_kernels();

/// Returns the best supported kernels.
const BlockKernels& block_kernels();

}  // namespace aoti_dbg
