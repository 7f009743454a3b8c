// The state of one thread: its open calls, its ring and its counts.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "config/selection.hpp"
#include "model/wrapper_info.hpp"
#include "shim/calls/coverage.hpp"
#include "shim/calls/parts.hpp"
#include "shim/calls/passage.hpp"
#include "shim/record/flight_ring.hpp"
#include "shim/runtime/process.hpp"
#include "shim/runtime/slots.hpp"

// The library exports none of these, so it need not look up their addresses.
#pragma GCC visibility push(hidden)

namespace aoti_dbg {

class MeasuredModel;
class Session;
struct Name;

/// A word that one thread writes while other threads or its own signal handlers read it.
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
    Word operator++() {
        const Word next = get() + 1;
        *this = next;
        return next;
    }
    Word operator--() {
        const Word next = get() - 1;
        *this = next;
        return next;
    }

  private:
    std::atomic<Word> word_{};
};

/// A call that has started and not ended.
struct OpenCall {
    WatchedWord<std::uintptr_t> frame;         // the caller's stack pointer
    WatchedWord<std::uint64_t> mark;           // unique to this call in this thread
    WatchedWord<const std::uint64_t*> cookie;  // contains mark as long as the frame exists
    const Name* name = nullptr;
    OpenCall* around = nullptr;            // the innermost run around it, or null; a run points to itself
    std::uint64_t stream = 0;              // the call's own stream, or that of its run
    std::uint32_t run = ring::kNoRun;      // a run's own number; for other calls, the run they belong to
    std::uint32_t number = ring::kNoCall;  // number of the model's own call that this is or is inside of
    std::uint32_t site = kNone;            // its line in the model's source
    std::uint16_t model = ring::kNoModel;
    ring::CallKind kind = ring::CallKind::unknown;
    bool is_own = false;  // called by the model's own code, directly inside its run
    // These begin as zero (clear() in call_path.hpp), up to `passage`.
    std::uint32_t next_call = 0;  // of a run: number of its next call
    std::uint32_t nesting = 0;  // indentation of its line: calls around it that do not only lead into a model
    std::uint64_t seq = 0;
    ring::Record* record = nullptr;
    MeasuredModel* measured = nullptr;    // null if its tensors cannot be inspected
    Selected sides;                       // what the options select
    TensorRequest before;                 // what to do with its tensors before it
    TensorRequest after;                  // what to do with them after it
    bool is_site_certain = false;         // no other site could be meant
    bool is_requested = false;            // a run, or the options select its name or tensors
    bool is_skipped = false;              // a run whose calls are not inspected (skipped_runs.hpp)
    bool is_printed = false;              // it has a line in the log
    bool is_unsaved = false;              // its tensors cannot be saved, so its name is printed instead
    bool has_finding = false;             // of a run that ends
    std::uint32_t container_changes = 0;  // of a run: their number when it began
    Passage passage;                      // how the call came in, for its tensors
};

inline constexpr std::uint32_t kDeepest = 64;

/// The name of a launched function, as last looked up by this thread.
struct CachedFunction {
    const void* function = nullptr;
    std::uint64_t epoch = 0;
    const Name* name = nullptr;
};

inline constexpr std::size_t kCachedFunctions = 64;
/// The place of a function in the cache.
inline std::size_t place_of_function(const void* function) {
    const auto number = reinterpret_cast<std::uintptr_t>(function);
    return (number >> 4U ^ number >> 10U) % kCachedFunctions;
}

/// Where a model's code is.
struct ModelCode {
    std::uint16_t model = ring::kNoModel;
    std::uintptr_t low = 0;
    std::uintptr_t bytes = 0;
};

/// A run that the thread inspected from start to end.
struct WholeRun {
    std::uint64_t container = 0;
    std::uint32_t changes = 0;  // to containers, before the run
    std::uint16_t model = 0;
    bool is_known = false;
    bool operator==(const WholeRun&) const = default;
};

/// Per-thread progress, read by the hang watchdog. Only the thread itself writes it.
struct ThreadProgress {
    std::atomic<std::uint32_t> tid{0};     // 0: not a live thread with a ring
    Count steps;                           // calls started, ended or unwound, and waits
    std::atomic<std::uintptr_t> stack{0};  // the stack pointer at the last started call, wait or query
    // The last query that the device answered with "not ready". Any later step clears it.
    std::atomic<const Name*> question{nullptr};
    std::atomic<std::uint64_t> asked_of{0};  // a stream or an event
    std::atomic<std::uint64_t> stream{0};
    Count answers;  // number of such answers
};

struct ThreadState {
    Session* session = nullptr;
    WatchedWord<std::uint32_t> depth;
    std::uint64_t marks = 0;
    std::uint64_t failing_run = 0;                    // mark of a run that will return a failure
    bool is_failure_explained = false;                // the last run failed, and a finding explains it
    std::uint16_t introduced_model = ring::kNoModel;  // the model of the thread's last line in the log
    std::array<OpenCall, kDeepest> open;
    ThreadRing ring;
    Counts counts;
    ThreadProgress progress;
    ModelCode code;  // of the model whose launch the thread looked at last
    std::array<CachedFunction, kCachedFunctions> functions;
    static constexpr std::size_t kWholeRuns = 16;
    std::array<WholeRun, kWholeRuns> whole_runs;
    // The marker index that the thread's launches used last, by stream (completion_markers).
    std::array<std::uint16_t, 16> marked_at{};
    WatchedWord<std::uintptr_t> stack_low;  // bounds of the thread's own stack; 0: not determined yet
    WatchedWord<std::uintptr_t> stack_high;
    Parts parts;  // of the features

    [[nodiscard]] OpenCall* top() { return depth == 0 ? nullptr : &open[depth - 1]; }
};

/// Returns true if the call is an op that returned tensors and belongs to a model whose tensors can be
/// inspected.
inline bool returns_tensors(const OpenCall& call) {
    return call.measured != nullptr && call.passage.slot != nullptr && call.passage.slot->gives_tensors;
}

/// Returns true if the call may give a tensor that it gets other memory and sizes, behind the same handle.
inline bool moves_tensors(const OpenCall& call) {
    return call.passage.slot != nullptr && call.passage.slot->moves_tensors;
}

/// Returns the innermost run that this thread is inside of, or null.
inline OpenCall* innermost_run(ThreadState& state) {
    OpenCall* const top = state.top();
    return top == nullptr ? nullptr : top->around;
}

// With initial-exec, access is one load without a call into the loader. A preloaded library gets static TLS.
extern __thread ThreadState* t_thread_state __attribute__((tls_model("initial-exec")));

/// Creates the calling thread's state if it has none in the current session.
ThreadState* attach_thread_state();

/// Returns the calling thread's state, created at its first call. Returns null if nothing is recorded.
inline ThreadState* thread_state() {
    ThreadState* const state = t_thread_state;
    const Session* const session = wiped_page().session.load(std::memory_order_acquire);
    if (state != nullptr && state->session == session && session != nullptr) return state;
    return attach_thread_state();
}

/// Returns the state if it exists, and never creates one.
inline ThreadState* thread_state_if_any() {
    ThreadState* const state = t_thread_state;
    const Session* const session = wiped_page().session.load(std::memory_order_acquire);
    return state != nullptr && state->session == session ? state : nullptr;
}

void ask_for_stack(ThreadState& state);

/// Returns the number of readable words from `address` to the end of the thread's stack. Returns 0 for an
/// address on another stack (a fiber's).
inline std::uint64_t readable_stack_words(ThreadState& state, std::uintptr_t address) {
    if (state.stack_high == 0) [[unlikely]]
        ask_for_stack(state);
    const std::uintptr_t high = state.stack_high;
    if (address < state.stack_low || address >= high) return 0;
    return (high - address) / sizeof(std::uint64_t);
}

}  // namespace aoti_dbg

#pragma GCC visibility pop
