// Computes statistics of tensors in host memory. It uses only the calling thread. A caller with several
// threads gives each a range and merges the results. It allocates nothing and needs about 24 KiB of stack. It
// preserves errno and the floating-point state.
#pragma once

#include "stats_kernels/statistics.hpp"

namespace aoti_dbg {

struct BlockKernels;

/// Ranges start at multiples of this, which are whole hash groups for every dtype.
inline constexpr std::uint64_t kRangeGrain = 16;

/// Returns the first element of part `part` of `parts`, a multiple of kRangeGrain or `count`. Part `parts`
/// starts at `count`.
std::uint64_t range_begin(std::uint64_t count, std::uint32_t part, std::uint32_t parts);

/// Measures the elements [begin, end). They are in logical order if `requested` depends on it, else in an
/// order that all ranges of the tensor share. `begin` is a multiple of kRangeGrain. `end` is one too, or the
/// tensor's count.
TensorPartial measure_range(const TensorView& tensor, Requested requested, std::uint64_t begin,
                            std::uint64_t end);

/// Does the same with the given loops (cpu_blocks.hpp).
TensorPartial measure_range(const TensorView& tensor, Requested requested, std::uint64_t begin,
                            std::uint64_t end, const BlockKernels& kernels);

/// Measures the whole tensor on this thread.
TensorStatistics measure(const TensorView& tensor, Requested requested);

}  // namespace aoti_dbg
