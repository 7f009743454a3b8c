#include "shim/faults/completion_markers.hpp"

#include <cstring>
#include <new>

#include "config/options.hpp"
#include "serializer/cuda_error.hpp"
#include "shim/calls/session.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/faults/markers_part.hpp"
#include "shim/runtime/process.hpp"
#include "shim/runtime/stream_key.hpp"

namespace aoti_dbg {
namespace {

std::uint32_t flags_for(DumpOfFault dump) {
    const bool may_run_on =
        dump == DumpOfFault::ours || dump == DumpOfFault::of_others || dump == DumpOfFault::lost;
    return (may_run_on ? ring::kMayRunOn : 0U) | (measuring() || saving() ? ring::kOwnKernels : 0U);
}

}  // namespace

bool is_blocking(const char* launch_blocking) {
    return launch_blocking != nullptr && *launch_blocking != '\0' && strcmp(launch_blocking, "0") != 0;
}

bool wants_markers(const Options& options, DumpOfFault dump, const char* launch_blocking) {
    if (!options.may_mark()) return false;
    if (options.completion == Completion::markers) return true;
    if (is_blocking(launch_blocking)) return false;
    return options.hang != 0 || (dump != DumpOfFault::ours && dump != DumpOfFault::of_others);
}

CompletionMarkers::CompletionMarkers(FlightRing& ring, DumpOfFault dump)
    : ring_(ring), flags_(flags_for(dump)) {}

void CompletionMarkers::set_up(const DriverApi& api, CUcontext context) {
    static_assert(kMostContexts * MarkedContext::kStreams < UINT16_MAX, "a mark must fit into its record");
    const std::lock_guard lock(mutex_);
    for (std::size_t i = 0; i < kMostContexts; ++i) {
        MarkedContext* there = contexts_[i].load(std::memory_order_acquire);
        if (there != nullptr && !there->is_of(context)) continue;
        if (there == nullptr) {
            there = new (std::nothrow)
                MarkedContext(context, 1 + static_cast<std::uint32_t>(i) * MarkedContext::kStreams);
            if (there == nullptr) return;
            there->open(api, ring_, flags_);
            contexts_[i].store(there, std::memory_order_release);
        } else {
            there->open_again(api);
        }
        return;
    }
    is_full_.store(true, std::memory_order_relaxed);
    say_without_markers("some launches have no completion markers", "there are too many contexts");
}

MarkedContext* CompletionMarkers::find(CUcontext context) const {
    for (const std::atomic<MarkedContext*>& one : contexts_) {
        MarkedContext* const there = one.load(std::memory_order_acquire);
        if (there == nullptr || there->is_of(context)) return there;
    }
    return nullptr;
}

void CompletionMarkers::prepare(CUstream stream) {
    const DriverApi* const api = driver_api();
    CUcontext context = nullptr;
    if (api == nullptr || api->cuCtxGetCurrent(&context) != CUDA_SUCCESS || context == nullptr) return;
    const MarkedContext* const there = find(context);
    const bool is_here = there != nullptr && !there->is_uncertain();
    if (is_here || (there == nullptr && is_full_.load(std::memory_order_relaxed))) return;
    if (capture_of(*api, stream) == Capture::none) set_up(*api, context);
}

std::uint8_t CompletionMarkers::mark(ThreadState& state, CUstream stream, ring::Record* record,
                                     std::uint64_t seq) {
    const DriverApi* const api = driver_api();
    CUcontext context = nullptr;
    if (api == nullptr || api->cuCtxGetCurrent(&context) != CUDA_SUCCESS || context == nullptr) return 0;
    const Capture capture = capture_of(*api, stream);
    // In a graph, the marker would be written at each launch of the graph.
    if (capture == Capture::active) return ring::kCaptured;
    MarkedContext* const there = find(context);
    if (there == nullptr) return 0;
    if (capture == Capture::unknown || record == nullptr || !there->is_usable()) {
        there->leave_one_out();
    } else {
        there->mark(*api, state, stream, *record, seq);
    }
    return 0;
}

void CompletionMarkers::look() {
    for (const std::atomic<MarkedContext*>& one : contexts_)
        if (MarkedContext* const there = one.load(std::memory_order_acquire); there != nullptr) there->look();
}

std::uint64_t CompletionMarkers::look_for_unended(std::vector<UnendedMark>& unended) {
    std::uint64_t ended = 0;
    for (const std::atomic<MarkedContext*>& one : contexts_)
        if (MarkedContext* const there = one.load(std::memory_order_acquire); there != nullptr)
            ended += there->look_for_unended(unended);
    return ended;
}

void CompletionMarkers::note_failure(std::int32_t error) {
    const DriverApi* const api = driver_api();
    CUcontext context = nullptr;
    if (api == nullptr || api->cuCtxGetCurrent(&context) != CUDA_SUCCESS || context == nullptr) return;
    if (MarkedContext* const there = find(context); there != nullptr) there->note_failure(error);
}

void CompletionMarkers::context_ends(CUcontext context) {
    for (const std::atomic<MarkedContext*>& one : contexts_) {
        MarkedContext* const there = one.load(std::memory_order_acquire);
        if (there == nullptr || (context != nullptr && !there->is_of(context))) continue;
        there->context_ends();
    }
}

void CompletionMarkers::thread_ends(std::uint32_t tid) {
    for (const std::atomic<MarkedContext*>& one : contexts_)
        if (MarkedContext* const there = one.load(std::memory_order_acquire); there != nullptr)
            there->thread_ends(tid);
}

std::uint8_t mark_launch(CompletionMarkers& markers, ThreadState& state, std::uintptr_t frame,
                         CUstream stream, std::int32_t result) {
    if (result != CUDA_SUCCESS) {
        if (ends_context(result)) markers.note_failure(result);
        return 0;
    }
    const OpenCall* const call = state.top();
    const bool is_on_record = call != nullptr && call->frame == frame && call->record != nullptr;
    return markers.mark(state, stream, is_on_record ? call->record : nullptr, is_on_record ? call->seq : 0);
}

void note_result(Session& session, std::int32_t result) {
    if (result == CUDA_SUCCESS || !ends_context(result)) return;
    if (CompletionMarkers* const markers = present_markers(session); markers != nullptr)
        markers->note_failure(result);
}

void note_unrecorded_result(std::int32_t result) {
    if (!g_marking || result == CUDA_SUCCESS || !ends_context(result) || !observing()) return;
    if (Session* const session = wiped_page().session.load(std::memory_order_acquire); session != nullptr)
        note_result(*session, result);
}

void end_marked_context(CUcontext context) {
    if (!g_marking || !observing()) return;
    Session* const session = wiped_page().session.load(std::memory_order_acquire);
    CompletionMarkers* const markers = session == nullptr ? nullptr : present_markers(*session);
    if (markers != nullptr) markers->context_ends(context);
}

}  // namespace aoti_dbg
