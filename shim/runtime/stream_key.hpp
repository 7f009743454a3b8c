// Identifies a stream as the driver does, and answers questions about it.
#pragma once

#include <cstdint>

#include "shim/runtime/gpu_context.hpp"

namespace aoti_dbg {

struct StreamKey {
    CUcontext context = nullptr;
    CUstream handle = nullptr;  // null: the legacy stream
    std::uint64_t thread = 0;   // the owner of a CU_STREAM_PER_THREAD stream, else 0
    /// Returns the key of the stream that `stream` denotes in the calling thread.
    static StreamKey of(CUcontext context, CUstream stream);
    bool operator==(const StreamKey&) const = default;
};

/// Returns true if the key's handle denotes the same stream in the calling thread.
bool is_known_here(const StreamKey& stream);

/// Says if work on a stream goes to the device, into a graph, or is unknown. capture_of() needs the context
/// to be current.
enum class Capture { none, active, unknown };
Capture capture_of(const DriverApi& api, CUstream stream);

bool is_capturing(const GpuContext& gpu, CUstream stream);
/// Prints once that captured calls are neither measured nor saved.
void say_that_it_captures();

/// Queries the device, so call it only when a result is long overdue. It also detects a failed context.
/// `done`: the device writes nothing more for the stream, or its context failed. `lost`: the state is
/// unknown, and the stream may be destroyed.
enum class StreamState { busy, done, lost };
StreamState state_of(GpuContext& gpu, const StreamKey& stream);

/// Returns a number that distinguishes a result from an older one in the same place. It is never 0.
std::uint32_t next_launch_sequence();

}  // namespace aoti_dbg
