// The beginning and the end of a call: record, count, print. The road that every launch takes; at level 3
// into a file it makes no system call and allocates nothing.
#pragma once

#include <cstdint>

#include "serializer/flight_ring_format.hpp"
#include "shim/calls/passage.hpp"
#include "shim/runtime/launch_count.hpp"

namespace aoti_dbg {

struct Name;
struct OpenCall;
struct ThreadState;

struct CallStart {
    const Name* name = nullptr;
    ring::CallKind kind = ring::CallKind::unknown;
    std::uint16_t model = ring::kNoModel;  // where known from elsewhere than the run
    std::uintptr_t frame = 0;              // where the caller's stack stands
    std::uint64_t stream = 0;
    bool by_model = false;            // made by a model's own code, also where no run is open
    std::uint64_t* cookie = nullptr;  // a word of the call's own stack frame, ours to mark; nullptr: none
    Passage passage = {};             // of what came through a stub
    LaunchNumber launch = {};
};

/// Calls that are not kernels or ops themselves and in which a model's code runs: recorded, never printed.
inline bool is_model_entry(ring::CallKind kind) {
    return kind == ring::CallKind::run || kind == ring::CallKind::lifecycle;
}

/// Calls of this thread that did not end though their stack frames are gone were left by an exception: closes
/// them. Gone are frames at or below `frame`, and those whose cookie was overwritten.
void close_unwound_calls(ThreadState& state, std::uintptr_t frame);

/// Records and prints. Call settle() first. Returns false when nothing is left to do after the call, because
/// nobody asked for it or it is too deep to keep account of; then end_call must not be called.
bool begin_call(ThreadState& state, const CallStart& start);

/// Ends the innermost call if it was begun at `frame`; otherwise does nothing. `flags`: what is to be on
/// record of it besides, as ring::RecordFlags.
void end_call(ThreadState& state, std::uintptr_t frame, std::int32_t result, std::uint8_t flags = 0);

/// How far what is printed of a call in this thread is indented: the calls that it lies in, but for those
/// that only lead into a model.
std::uint32_t nesting_of(const ThreadState& state);

}  // namespace aoti_dbg
