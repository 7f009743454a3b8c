// The calls that a thread can still be inside of, by the position of its stack.
#include "shim/calls/unwound_calls.hpp"

#include "shim/calls/thread_state.hpp"
#include "tests/support/catch.hpp"

namespace aoti_dbg::unwound_calls_test {
namespace {

constexpr std::uint64_t kMark = 7;

/// A thread inside three calls, on a stack with these words: a frame at each of `kFrames`, with its cookie in
/// the word below.
struct ThreadInCalls {
    static constexpr std::size_t kWords = 64;
    static constexpr std::size_t kFrames[] = {50, 40, 30};

    std::uint64_t stack[kWords] = {};
    ThreadState state;

    ThreadInCalls() {
        state.stack_low = at(0);
        state.stack_high = at(kWords);
        for (const std::size_t frame : kFrames) {
            OpenCall& call = state.open[state.depth];
            call.frame = at(frame);
            call.mark = kMark;
            call.cookie = &stack[frame - 1];
            stack[frame - 1] = kMark;
            ++state.depth;
        }
    }
    [[nodiscard]] std::uintptr_t at(std::size_t word) const {
        return reinterpret_cast<std::uintptr_t>(stack) + word * sizeof(std::uint64_t);
    }
};

TEST_CASE("A thread whose stack is below all frames is inside all its calls") {
    const ThreadInCalls thread;
    CHECK(open_depth(thread.state, thread.at(10)) == 3);
    CHECK(open_depth(thread.state, thread.at(29)) == 3);
}

TEST_CASE("Calls are unwound once the stack has returned to their frames or beyond") {
    const ThreadInCalls thread;
    CHECK(open_depth(thread.state, thread.at(30)) == 2);
    CHECK(open_depth(thread.state, thread.at(39)) == 2);
    CHECK(open_depth(thread.state, thread.at(45)) == 1);
    CHECK(open_depth(thread.state, thread.at(50)) == 0);
    CHECK(open_depth(thread.state, thread.at(60)) == 0);
}

TEST_CASE("Calls with overwritten cookies are unwound, wherever the stack is now") {
    ThreadInCalls thread;
    thread.stack[29] = 0;
    CHECK(open_depth(thread.state, thread.at(10)) == 2);
    CHECK(open_depth(thread.state, 0) == 2);
    thread.stack[49] = 0;
    // An open call lies within it, so it is open itself.
    CHECK(open_depth(thread.state, thread.at(10)) == 2);
    thread.stack[39] = 0;
    CHECK(open_depth(thread.state, thread.at(10)) == 0);
}

TEST_CASE("On another stack, or without a known stack of the thread, no call counts as unwound") {
    ThreadInCalls thread;
    std::uint64_t elsewhere = 0;
    CHECK(open_depth(thread.state, reinterpret_cast<std::uintptr_t>(&elsewhere)) == 3);
    // The innermost call was on a fiber's stack, which must not be read.
    thread.state.open[2].frame = UINTPTR_MAX;
    thread.state.open[2].cookie = reinterpret_cast<const std::uint64_t*>(std::uintptr_t{64});
    CHECK(open_depth(thread.state, thread.at(60)) == 3);
    thread.state.open[2].frame = thread.at(30);
    CHECK(open_depth(thread.state, thread.at(10)) == 3);
    thread.state.stack_low = 0;
    thread.state.stack_high = 0;
    CHECK(open_depth(thread.state, thread.at(60)) == 3);
}

TEST_CASE("An unwound call is counted and no longer open") {
    ThreadInCalls thread;
    const std::uint64_t steps = thread.state.progress.steps.get();
    close_innermost_unwound(thread.state);
    CHECK(thread.state.depth == 2);
    CHECK(thread.state.counts.exceptions.get() == 1);
    CHECK(thread.state.progress.steps.get() == steps + 1);
}

}  // namespace
}  // namespace aoti_dbg::unwound_calls_test
