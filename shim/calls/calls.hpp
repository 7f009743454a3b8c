// Starts and ends a call: records, counts and prints it. Every launch takes this path. At level 3 with a log
// file, it makes no system call and allocates nothing.
#pragma once

#include <cstdint>

#include "serializer/flight_ring_format.hpp"
#include "shim/calls/passage.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/calls/unwound_calls.hpp"
#include "shim/runtime/launch_count.hpp"

namespace aoti_dbg {

struct Name;

struct CallStart {
    const Name* name = nullptr;
    ring::CallKind kind = ring::CallKind::unknown;
    std::uint16_t model = ring::kNoModel;  // set if known from a source other than the run
    std::uintptr_t frame = 0;              // the caller's stack pointer
    std::uint64_t stream = 0;
    bool by_model = false;            // called by a model's own code, even outside a run
    std::uint64_t* cookie = nullptr;  // a word of the call's own stack frame that we may mark; null: none
    Passage passage = {};             // set if the call came through a stub or a launch hook
    LaunchNumber launch = {};
};

/// Returns true for calls that are neither kernels nor ops but run a model's code. They are recorded and
/// never printed.
inline bool is_model_entry(ring::CallKind kind) {
    return kind == ring::CallKind::run || kind == ring::CallKind::lifecycle;
}

/// Returns true if an exception unwound the open call: its frame is at or below `frame`, or another frame has
/// overwritten it.
inline bool is_left(ThreadState& state, const OpenCall& call, std::uintptr_t frame) {
    // Stacks grow downwards, so a call that started at or below this frame is no longer running.
    if (call.frame <= frame) return true;
    const std::uint64_t* const cookie = call.cookie;
    if (cookie == nullptr) return false;
    if (state.stack_high == 0) [[unlikely]]
        ask_for_stack(state);
    const std::uintptr_t low = state.stack_low;
    const std::uintptr_t high = state.stack_high;
    // A cookie on another stack (a fiber's, perhaps already freed) must not be read.
    if (frame < low || frame >= high || reinterpret_cast<std::uintptr_t>(cookie) >= high) return false;
    return is_overwritten(cookie, call.mark);
}

void close_calls_below(ThreadState& state, std::uintptr_t frame);

/// Closes the calls of this thread that an exception unwound. Returns the innermost call that is left, or
/// null. Inline, because each call begins with it.
inline OpenCall* close_unwound_calls(ThreadState& state, std::uintptr_t frame) {
    const std::uint32_t depth = state.depth;
    if (depth == 0) return nullptr;
    OpenCall* const innermost = &state.open[depth - 1];
    if (!is_left(state, *innermost, frame)) [[likely]]
        return innermost;
    close_calls_below(state, frame);
    return state.top();
}

/// Records and prints. Call close_unwound_calls() first. Returns false if nothing remains to do after the
/// call, because no option requests it or it is nested too deep. Do not call end_call() then.
bool begin_call(ThreadState& state, const CallStart& start);

/// Ends the innermost call if it started at `frame`, and otherwise does nothing. `flags` are additional
/// ring::RecordFlags for its record.
void end_call(ThreadState& state, std::uintptr_t frame, std::int32_t result, std::uint8_t flags = 0);

}  // namespace aoti_dbg
