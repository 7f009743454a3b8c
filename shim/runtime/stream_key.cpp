#include "shim/runtime/stream_key.hpp"

#include <pthread.h>

#include <atomic>

#include "base/message.hpp"
#include "serializer/cuda_error.hpp"
#include "shim/runtime/ended_context.hpp"

namespace aoti_dbg {
namespace {

std::uint64_t this_thread() {
    return static_cast<std::uint64_t>(pthread_self());
}

}  // namespace

StreamKey StreamKey::of(CUcontext context, CUstream stream) {
    if (stream == CU_STREAM_LEGACY) stream = nullptr;
    return {context, stream, stream == CU_STREAM_PER_THREAD ? this_thread() : 0};
}

bool is_known_here(const StreamKey& stream) {
    return stream.thread == 0 || stream.thread == this_thread();
}

Capture capture_of(const DriverApi& api, CUstream stream) {
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    const CUresult asked = api.cuStreamIsCapturing(stream, &status);
    if (status != CU_STREAM_CAPTURE_STATUS_NONE) return Capture::active;
    // No stream captures in a failed context.
    return asked == CUDA_SUCCESS || ends_context(asked) ? Capture::none : Capture::unknown;
}

bool is_capturing(const GpuContext& gpu, CUstream stream) {
    const DriverApi& api = gpu.api();
    const ContextScope context(api, gpu.context());
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    const CUresult result = api.cuStreamIsCapturing(stream, &status);
    // The driver refuses the legacy stream while another stream captures.
    return result == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT || status != CU_STREAM_CAPTURE_STATUS_NONE;
}

void say_that_it_captures() {
    static std::atomic<bool> said{false};
    if (said.exchange(true)) return;
    message(Severity::info,
            "a stream is being captured into a CUDA graph. Its calls are not measured or saved, and their "
            "names are printed (level 3). Kernels that the graph launches later are not intercepted.");
}

StreamState state_of(GpuContext& gpu, const StreamKey& stream) {
    if (stream.thread != 0 || is_capturing(gpu, stream.handle)) return StreamState::busy;
    const ContextScope context(gpu.api(), gpu.context());
    const RelaxedCapture relaxed(gpu.api());
    const CUresult result = gpu.api().cuStreamQuery(stream.handle);
    if (result == CUDA_ERROR_NOT_READY) return StreamState::busy;
    if (is_end_of_context(result)) gpu.give_up();
    note_context_error(result);
    return result == CUDA_SUCCESS || is_end_of_context(result) ? StreamState::done : StreamState::lost;
}

std::uint32_t next_launch_sequence() {
    static std::atomic<std::uint32_t> last{0};
    std::uint32_t sequence = 0;
    while (sequence == 0)
        sequence = last.fetch_add(1, std::memory_order_relaxed) + 1;
    return sequence;
}

}  // namespace aoti_dbg
