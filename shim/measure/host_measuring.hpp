// Measures tensors in host memory immediately, in the thread that the model runs in. For a large tensor,
// threads of the library help. The result must not depend on the number of threads.
#pragma once

#include <cstdint>

#include "shim/measure/event_queue.hpp"
#include "shim/measure/host_pool.hpp"
#include "shim/runtime/shim_api.hpp"
#include "stats_kernels/statistics.hpp"

namespace aoti_dbg {

/// The number of elements in a part. The calling thread measures a tensor with fewer than two parts alone.
/// Waking another thread costs the caller 3 to 5 µs, and that thread starts about 20 µs later. A thread
/// measures 20 000 float32 elements in that time (docs/internals/benchmarks.md). A part is four times as
/// large if only findings are requested.
inline constexpr std::uint64_t kSharedPartElements = std::uint64_t{1} << 16U;

/// Does the same as measure() with up to `most_threads` threads. `pool` may be null.
TensorStatistics measure_shared(const TensorView& tensor, Requested requested, HostPool* pool,
                                std::uint32_t most_threads);

/// Returns the number of threads that one calling thread may use. The limits are the processors that it may
/// run on, `program_wants` unless it is 0, and OMP_NUM_THREADS and OMP_THREAD_LIMIT. The environment
/// variables are read once, at the first call.
std::uint32_t allowed_threads(std::uint32_t program_wants);

/// Measures a tensor, and copies its values if they are to appear in the output.
std::unique_ptr<MeasuredOnHost> measure_on_host(const SeenTensor& tensor, Requested requested,
                                                const ShimApi& api);

}  // namespace aoti_dbg
