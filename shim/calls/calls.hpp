// Starts and ends a call: records, counts and prints it. Every launch takes this path. At level 3 with a log
// file, it makes no system call and allocates nothing.
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

/// Closes the calls of this thread that an exception unwound. These are calls whose frame is at or below
/// `frame`, or whose cookie was overwritten.
void close_unwound_calls(ThreadState& state, std::uintptr_t frame);

/// Records and prints. Call close_unwound_calls() first. Returns false if nothing remains to do after the
/// call, because no option requests it or it is nested too deep. Do not call end_call() then.
bool begin_call(ThreadState& state, const CallStart& start);

/// Ends the innermost call if it started at `frame`, and otherwise does nothing. `flags` are additional
/// ring::RecordFlags for its record.
void end_call(ThreadState& state, std::uintptr_t frame, std::int32_t result, std::uint8_t flags = 0);

/// Returns the indentation of printed calls in this thread: the number of open calls, except those that only
/// lead into a model.
std::uint32_t nesting_of(const ThreadState& state);

}  // namespace aoti_dbg
