// The inner loops of the CPU implementation, over blocks that fit the first cache. They are compiled once for
// the processor that every build runs on and once for x86-64-v3; which is used is looked up, not resolved by
// the loader: an ifunc would run before the library is relocated.
#pragma once

#include <cstdint>

#include "stats_kernels/tensor_view.hpp"

namespace aoti_dbg {

/// Elements of a block; a multiple of what loops take at once and of a hash group.
inline constexpr std::uint32_t kBlockElements = 512;

/// Of numbers, relative to one of them, so that nothing cancels.
struct BlockSummary {
    double shift = 0;
    double sum = 0;      // of the distances from shift
    double squares = 0;  // of the same; finite exactly if all numbers are and no square overflows
    double minimum = 0;
    double maximum = 0;
    std::uint64_t zeros = 0;
};

struct BlockKernels {
    const char* name;
    /// `raw` holds elements of `dtype`, packed, at any address; not complex, not 64-bit integers. Exact.
    void (*decode)(DType dtype, const unsigned char* raw, std::uint32_t count, double* numbers);
    /// `numbers` has room for kBlockElements, of which those after `count` are overwritten. `count` > 0.
    void (*summarise)(double* numbers, std::uint32_t count, BlockSummary& summary);
    /// Whether any element is Inf or NaN, by its bits. Kinds of float, not complex.
    bool (*any_special)(DType dtype, const unsigned char* raw, std::uint32_t count);
};

/// Of each way to compile; null where the build or the processor does not have it.
const BlockKernels* baseline_block_kernels();
const BlockKernels* x86_64_v3_block_kernels();

/// The best of these.
const BlockKernels& block_kernels();

}  // namespace aoti_dbg
