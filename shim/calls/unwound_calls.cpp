#include "shim/calls/unwound_calls.hpp"

#include "shim/calls/skipped_runs.hpp"
#include "shim/calls/thread_state.hpp"
#include "shim/runtime/clock.hpp"

namespace aoti_dbg {

std::uint32_t open_depth(const ThreadState& state, std::uintptr_t stack) {
    const auto is_own = [&state](std::uintptr_t address) {
        return address >= state.stack_low && address < state.stack_high;
    };
    std::uint32_t depth = state.depth;
    if (stack != 0 && !is_own(stack)) return depth;
    for (; depth > 0; --depth) {
        const OpenCall& call = state.open[depth - 1];
        if (!is_own(call.frame)) break;
        // Stacks grow downwards.
        const bool is_gone = stack != 0 && call.frame <= stack;
        const std::uint64_t* const cookie = call.cookie;
        const bool has_cookie = is_own(reinterpret_cast<std::uintptr_t>(cookie));
        if (!is_gone && !(has_cookie && is_overwritten(cookie, call.mark))) break;
    }
    return depth;
}

void close_innermost_unwound(ThreadState& state) {
    const OpenCall& left = state.open[--state.depth];
    state.progress.steps.raise();
    watch_as_run_needs(state);
    if (left.record != nullptr) ThreadRing::end(left.record, left.seq, 0, ring::kUnwoundByException, ticks());
    state.counts.exceptions.raise();
}

void close_unwound_records(ThreadState& state, std::uintptr_t stack) {
    const std::uint32_t open = open_depth(state, stack);
    while (state.depth > open)
        close_innermost_unwound(state);
}

}  // namespace aoti_dbg
