// A stream as the driver knows it, and what can be asked of it.
#pragma once

#include <cstdint>

#include "shim/measure/gpu_context.hpp"

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

bool is_capturing(const GpuContext& gpu, CUstream stream);
/// Once: what is captured is neither measured nor saved.
void say_that_it_captures();

/// Whether no result is to come any more: the stream has nothing left to do, or is no more. Finds out whether
/// the context has failed. Asks the device: only when a result is long overdue.
bool is_done(GpuContext& gpu, const StreamKey& stream);

/// Numbers launches: tells a result from an older one in the same place. Never 0.
std::uint32_t next_launch_sequence();

}  // namespace aoti_dbg
