// A stream as the driver knows it, and what can be asked of it.
#pragma once

#include <cstdint>

#include "shim/runtime/gpu_context.hpp"

namespace aoti_dbg {

struct StreamKey {
    CUcontext context = nullptr;
    CUstream handle = nullptr;  // null: the legacy stream
    std::uint64_t thread = 0;   // of CU_STREAM_PER_THREAD: whose
    /// Of the stream that the calling thread names so.
    static StreamKey of(CUcontext context, CUstream stream);
    bool operator==(const StreamKey&) const = default;
};

/// Whether the calling thread finds its own stream under the key's handle.
bool is_known_here(const StreamKey& stream);

/// What goes to a stream goes to the device, into a graph, or nobody knows. In the current context.
enum class Capture { none, active, unknown };
Capture capture_of(const GpuApi& api, CUstream stream);

bool is_capturing(const GpuContext& gpu, CUstream stream);
/// Once: what is captured is neither measured nor saved.
void say_that_it_captures();

/// Asks the device, so only when a result is long overdue. Finds out whether the context has failed: then,
/// and when it is done, the device writes nothing more for it. `lost`: nobody can tell, the stream may be no
/// more.
enum class StreamState { busy, done, lost };
StreamState state_of(GpuContext& gpu, const StreamKey& stream);

/// Numbers launches: tells a result from an older one in the same place. Never 0.
std::uint32_t next_launch_sequence();

}  // namespace aoti_dbg
