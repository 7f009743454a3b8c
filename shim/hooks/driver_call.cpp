#include "shim/hooks/driver_call.hpp"  // first, because it configures cuda.h

#include "shim/calls/calls.hpp"
#include "shim/calls/functions.hpp"
#include "shim/calls/models.hpp"
#include "shim/calls/session.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/faults/completion_markers.hpp"
#include "shim/faults/markers_part.hpp"
#include "shim/runtime/names.hpp"

namespace aoti_dbg {
namespace {

const Name* name_of(ThreadState& state, ring::CallKind kind, const void* function, const char* label) {
    if (label == nullptr) return function_name(state, function);
    if (kind != ring::CallKind::graph) return intern_name(label, {});
    static const Name* const graph = intern_name(label, {});  // launched often, so looked up once
    return graph;
}

}  // namespace

[[gnu::hot]] DriverCall::DriverCall(ring::CallKind kind, const void* function, const char* label,
                                    CUstream stream, void* const* parameters, Caller by)
    : stream_(stream), frame_(by.frame), is_launch_(ring::is_launch(kind)) {
    const ErrnoKeeper errno_keeper;
    try {
        begin(kind, function, label, parameters, by.address);
    } catch (...) {
        switch_off("out of memory while recording a launch");
    }
}

[[gnu::hot]] CUresult DriverCall::end(CUresult result) {
    if (result != CUDA_SUCCESS) take_back(launch_);
    if (!begun_ || !observing()) return result;
    const ErrnoKeeper errno_keeper;
    try {
        ThreadState* const state = thread_state();
        if (state == nullptr) return result;
        CompletionMarkers* const markers = markers_of(*state);
        const std::uint8_t flags =
            markers == nullptr ? std::uint8_t{0} : mark_launch(*markers, *state, frame_, stream_, result);
        end_call(*state, frame_, result, flags);
    } catch (...) {
        switch_off("out of memory while recording the end of a launch");
    }
    return result;
}

/// Returns null if the call gets no markers.
CompletionMarkers* DriverCall::markers_of(ThreadState& state) const {
    return g_marking && is_launch_ ? aoti_dbg::markers_of(*state.session) : nullptr;
}

[[gnu::hot]] void DriverCall::begin(ring::CallKind kind, const void* function, const char* label,
                                    void* const* parameters, const void* caller) {
    ThreadState* state = thread_state();
    if (state == nullptr) return;
    close_unwound_calls(*state, frame_);
    const OpenCall* top = state->top();
    // A launch inside a launch is the same launch, passed on by another interposing library.
    if (top != nullptr && (top->kind == ring::CallKind::launch || top->kind == ring::CallKind::triton))
        return;
    CallStart start;
    start.kind = kind;
    start.frame = frame_;
    start.stream = reinterpret_cast<std::uintptr_t>(stream_);
    if (top == nullptr) {
        start.model = model_at(caller);
        start.by_model = start.model != ring::kNoModel;
    } else {
        // Within a run, copies and fills that PyTorch launches for the model are not the model's own calls.
        start.by_model = is_model_entry(top->kind) && is_in_model(top->model, caller);
    }
    if (kind == ring::CallKind::launch) launch_ = next_launch_number(stream_);
    if (kind == ring::CallKind::graph) launch_ = graph_launch_number(function, stream_);
    start.launch = launch_;
    if (kind == ring::CallKind::launch && start.by_model) {
        start.kind = ring::CallKind::triton;
        start.passage.function = function;
        start.passage.parameters = parameters;
    }
    start.name = name_of(*state, kind, function, label);
    begun_ = begin_call(*state, start);
    CompletionMarkers* const markers = begun_ ? markers_of(*state) : nullptr;
    if (markers != nullptr) markers->prepare(stream_);
}

}  // namespace aoti_dbg
