// Tensors in host memory, measured at once: by the thread that the model runs in and, where a tensor is
// large, by threads of our own beside it. What comes out does not depend on how many these are.
#pragma once

#include <cstdint>

#include "shim/measure/event_queue.hpp"
#include "shim/measure/host_pool.hpp"
#include "shim/runtime/shim_api.hpp"
#include "stats_kernels/statistics.hpp"

namespace aoti_dbg {

/// What has fewer elements than two of these is the calling thread's alone: to wake another one costs the
/// caller 3 to 5 µs, and that one begins some 20 µs later, in which 20 000 float32 are measured
/// (docs/internals/benchmarks.md). Where only findings are wanted, four times as many.
inline constexpr std::uint64_t kSharedPartElements = std::uint64_t{1} << 16U;

/// As measure(), by `most_threads` at a time. `pool` may be null.
TensorStatistics measure_shared(const TensorView& tensor, Wanted wanted, HostPool* pool,
                                std::uint32_t most_threads);

/// How many threads a calling thread may have at work: no more than processors that it may run on, than
/// `program_wants`, if that is not 0, and than OMP_NUM_THREADS and OMP_THREAD_LIMIT as they were when this
/// was called first.
std::uint32_t allowed_threads(std::uint32_t program_wants);

/// Measures a tensor with its values, if they are to be printed.
void measure_on_host(const SeenTensor& tensor, Wanted wanted, const ShimApi& api, SeenArgument& seen);

}  // namespace aoti_dbg
