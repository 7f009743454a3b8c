// What is known of one thread: the calls it is inside of, its ring, its counts.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "config/selection.hpp"
#include "model/wrapper_info.hpp"
#include "shim/calls/coverage.hpp"
#include "shim/calls/passage.hpp"
#include "shim/record/flight_ring.hpp"
#include "shim/runtime/process.hpp"
#include "shim/runtime/slots.hpp"

namespace aoti_dbg {

class MeasuredModel;
class Session;
struct Name;

/// A word that one thread writes, and that others, or its own signal handlers, read meanwhile.
template <typename Word>
class WatchedWord {
  public:
    WatchedWord() = default;
    WatchedWord(Word word) : word_(word) {}
    WatchedWord& operator=(Word word) {
        word_.store(word, std::memory_order_relaxed);
        return *this;
    }
    [[nodiscard]] Word get() const { return word_.load(std::memory_order_relaxed); }
    operator Word() const { return get(); }
    Word operator++() { return (*this = get() + 1).get(); }
    Word operator--() { return (*this = get() - 1).get(); }

  private:
    std::atomic<Word> word_{};
};

/// A call that has begun and not ended.
struct OpenCall {
    WatchedWord<std::uintptr_t> frame;  // where its caller's stack stood
    std::uint64_t seq = 0;
    std::uint64_t stream = 0;  // its own, or that of the run
    ring::Record* record = nullptr;
    WatchedWord<std::uint64_t> mark;           // of this call alone, in this thread
    WatchedWord<const std::uint64_t*> cookie;  // holds mark as long as its frame stands
    const Name* name = nullptr;
    std::uint32_t run = ring::kNoRun;      // of a run: its number; of others: the run it is part of
    std::uint32_t next_call = 0;           // of a run: number of its next call
    std::uint32_t number = ring::kNoCall;  // of the model's own call that it is or lies in
    OpenCall* around = nullptr;            // the innermost run that it lies in, if any; a run is its own
    std::uint16_t model = ring::kNoModel;
    ring::CallKind kind = ring::CallKind::unknown;
    bool is_own = false;                // by the model's own code, in no call but its run
    Selected sides;                     // what the options select of it
    TensorRequest before;               // its tensors, before it
    TensorRequest after;                // and when it is over
    MeasuredModel* measured = nullptr;  // where something can be asked of its tensors
    std::uint32_t site = kNone;         // its place in the model's source
    Passage passage;                    // likewise
    mutable bool is_printed = false;    // a line of it is in the log
};

inline constexpr std::uint32_t kDeepest = 64;

/// A launched function's name, as this thread last found it.
struct CachedFunction {
    const void* function = nullptr;
    std::uint64_t epoch = 0;
    const Name* name = nullptr;
};

/// What who watches for hangs sees of a thread: written by that thread alone.
struct ThreadProgress {
    std::atomic<std::uint32_t> tid{0};     // 0: none of a living thread that is in the ring
    Count steps;                           // calls begun, ended or left, and waits
    std::atomic<std::uintptr_t> stack{0};  // where it stood at the last of them that begun
    // The question to the device that was answered by "not ready" last, if nothing else came since.
    std::atomic<const Name*> question{nullptr};
    std::atomic<std::uint64_t> asked_of{0};  // a stream, or an event
    std::atomic<std::uint64_t> stream{0};
    Count answers;  // so far
};

struct ThreadState {
    Session* session = nullptr;
    WatchedWord<std::uint32_t> depth;
    std::uint64_t marks = 0;
    std::uint64_t failing_run = 0;  // mark of a run that is to return a failure
    std::array<OpenCall, kDeepest> open;
    ThreadRing ring;
    Counts counts;
    ThreadProgress progress;
    std::array<CachedFunction, 64> functions;
    // Where its launches were marked last, by stream (completion_markers).
    std::array<std::uint16_t, 16> marked_at{};
    WatchedWord<std::uintptr_t> stack_low;  // bounds of the thread's own stack, 0: not asked for yet
    WatchedWord<std::uintptr_t> stack_high;
    MeasuringThreadPtr measuring;  // made at the first call that level 2 looks at

    [[nodiscard]] OpenCall* top() { return depth == 0 ? nullptr : &open[depth - 1]; }
};

/// Whether the call is an op that returned tensors, of a model whose tensors can be asked for.
inline bool returns_tensors(const OpenCall& call) {
    return call.measured != nullptr && call.passage.slot != nullptr && call.passage.slot->gives_tensors;
}

/// The run that this thread is inside of, innermost, or nullptr.
inline OpenCall* innermost_run(ThreadState& state) {
    OpenCall* const top = state.top();
    return top == nullptr ? nullptr : top->around;
}

// Initial-exec: a load, no call into the loader. A preloaded library gets static TLS.
extern __thread ThreadState* t_thread_state __attribute__((tls_model("initial-exec")));

/// Makes the calling thread's state where it has none of the present session.
ThreadState* attach_thread_state();

/// The calling thread's state, made at its first call; nullptr when nothing is to be recorded.
inline ThreadState* thread_state() {
    ThreadState* const state = t_thread_state;
    const Session* const session = wiped_page().session.load(std::memory_order_acquire);
    if (state != nullptr && state->session == session && session != nullptr) return state;
    return attach_thread_state();
}

/// The same, but none is made.
inline ThreadState* thread_state_if_any() {
    ThreadState* const state = t_thread_state;
    const Session* const session = wiped_page().session.load(std::memory_order_acquire);
    return state != nullptr && state->session == session ? state : nullptr;
}

void ask_for_stack(ThreadState& state);

/// Words that can be read from `address` up to the end of the thread's stack; 0 where `address` lies
/// elsewhere (a fiber's stack).
inline std::uint64_t readable_stack_words(ThreadState& state, std::uintptr_t address) {
    if (state.stack_high == 0) [[unlikely]]
        ask_for_stack(state);
    if (address < state.stack_low || address >= state.stack_high) return 0;
    return (state.stack_high - address) / sizeof(std::uint64_t);
}

}  // namespace aoti_dbg
