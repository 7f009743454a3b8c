// Runs that no window selects. Between the samples of a server, nearly all runs are of this kind. The library
// records only that such a run begins and ends. Its calls go straight to the real functions: they are not
// counted, and they get no numbers.
#pragma once

#include <atomic>
#include <cstdint>

#include "shim/calls/thread_state.hpp"
#include "shim/runtime/slots.hpp"

namespace aoti_dbg {

struct CallStart;

/// The roles of calls in a run that only a selected run needs. Runs, entries into the model and grad mode
/// stay watched, because they begin and end runs.
inline constexpr std::uint32_t kRolesInRuns =
    1U << static_cast<unsigned>(SlotRole::call) | 1U << static_cast<unsigned>(SlotRole::proxy) |
    1U << static_cast<unsigned>(SlotRole::dispatcher) | 1U << static_cast<unsigned>(SlotRole::mark) |
    1U << static_cast<unsigned>(SlotRole::pointer) | 1U << static_cast<unsigned>(SlotRole::view) |
    1U << static_cast<unsigned>(SlotRole::made) | 1U << static_cast<unsigned>(SlotRole::freed);

/// True while the calling thread is inside a skipped run. An exception may have unwound the run; the next
/// run shows that.
inline bool in_skipped_run() {
    return (t_unwatched_roles & (1U << static_cast<unsigned>(SlotRole::call))) != 0;
}

/// Sets what the thread inspects in the innermost run. Call this when a run begins or ends.
inline void watch_as_run_needs(const ThreadState& state) {
    const std::uint32_t depth = state.depth;
    const OpenCall* const run = depth == 0 ? nullptr : state.open[depth - 1].around;
    t_unwatched_roles = run != nullptr && run->is_skipped ? kRolesInRuns : 0;
}

/// Returns true if nothing in the run needs inspection. `run` has its number.
///
/// A run that follows a change of the model's weights may fold constants, and then fetches their addresses.
/// So each thread inspects one whole run of a container first.
bool may_skip_run(const ThreadState& state, const CallStart& start, const OpenCall& run);

/// Call this when a container function other than a run begins, and when it ends. It may change weights.
void note_container_call(const OpenCall& call);

/// The thread inspected the run, which returned with success.
void note_whole_run(ThreadState& state, const OpenCall& run);

/// The number of changes to containers so far.
std::uint32_t container_changes();

}  // namespace aoti_dbg
