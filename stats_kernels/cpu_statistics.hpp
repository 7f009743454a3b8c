// Statistics of tensors in host memory. Uses the calling thread only: a caller with threads gives each a
// range and merges what they return. Allocates nothing, needs about 24 KiB of stack, and leaves no trace in
// errno or in the floating-point state.
#pragma once

#include "stats_kernels/statistics.hpp"

namespace aoti_dbg {

struct BlockKernels;

/// Where ranges may begin: whole groups of the hash, of every dtype.
inline constexpr std::uint64_t kRangeGrain = 16;

/// The first element of part `part` of `parts`, a multiple of kRangeGrain or `count`; that of part `parts` is
/// `count`.
std::uint64_t range_begin(std::uint64_t count, std::uint32_t part, std::uint32_t parts);

/// Elements [begin, end), in logical order where `wanted` depends on it, else in an order that is the same
/// for all ranges of a tensor. `begin` is a multiple of kRangeGrain, `end` too or the tensor's count.
TensorPartial measure_range(const TensorView& tensor, Wanted wanted, std::uint64_t begin, std::uint64_t end);

/// The same by chosen loops (cpu_blocks.hpp).
TensorPartial measure_range(const TensorView& tensor, Wanted wanted, std::uint64_t begin, std::uint64_t end,
                            const BlockKernels& kernels);

/// All of it, on this thread.
TensorStatistics measure(const TensorView& tensor, Wanted wanted);

}  // namespace aoti_dbg
