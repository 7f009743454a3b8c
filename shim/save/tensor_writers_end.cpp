// Ends saving: what to wait for, and how long. All of it may run in a signal handler at process exit. So it
// allocates nothing and takes no lock without a deadline.
#include <time.h>

#include <algorithm>

#include "base/message.hpp"
#include "shim/runtime/clock.hpp"
#include "shim/runtime/deadline_lock.hpp"
#include "shim/runtime/interrupts.hpp"
#include "shim/save/tensor_writers.hpp"

namespace aoti_dbg {
namespace {

// Extra time after the deadline for the threads to stop. On a slow disk one piece of a tensor takes a while.
constexpr std::uint32_t kLastMilliseconds = 2000;
// A shorter wait at exit needs no explanation.
constexpr std::uint64_t kFirstLine = 1'000'000'000;

/// Returns true as soon as `condition` is true, or false on timeout.
template <typename Condition>
bool wait_for(Condition condition, std::uint32_t milliseconds) {
    constexpr long kLongestEndPause = 2'000'000;
    const std::uint64_t end = monotonic_nanoseconds() + std::uint64_t{milliseconds} * 1'000'000U;
    timespec nap{0, 100'000};
    while (!condition()) {
        if (monotonic_nanoseconds() >= end) return false;
        nanosleep(&nap, nullptr);
        nap.tv_nsec = std::min(2 * nap.tv_nsec, kLongestEndPause);
    }
    return true;
}

}  // namespace

bool TensorWriters::drain(std::uint32_t patience_ms) {
    return wait_for([this] { return unfinished_.load(std::memory_order_acquire) == 0; }, patience_ms);
}

/// Returns a number that changes as long as the threads get on.
std::uint64_t TensorWriters::handled() const {
    const SaveProgress now = progress();
    return now.files + now.removed + now.bytes + now.bytes_handled + now.left_out;
}

void TensorWriters::drain_while_writing() {
    // Other threads may save more meanwhile.
    constexpr unsigned kMostSteps = 10;
    constexpr std::uint32_t kStep = 1000;
    std::uint64_t before = handled();
    for (unsigned step = 0; step < kMostSteps && !drain(kStep); ++step) {
        const std::uint64_t now = handled();
        if (now == before) return;
        before = now;
    }
}

/// A thread that is about to sleep holds the lock, unless the fatal signal interrupted it.
void TensorWriters::wake() {
    const bool locked = lock_with_deadline(mutex_);
    work_.notify_all();
    room_.notify_all();
    if (locked) mutex_.unlock();
}

bool TensorWriters::finish(std::uint32_t patience_ms) {
    const bool drained = drain(patience_ms);
    if (!drained && !is_abandoned_.load(std::memory_order_relaxed))
        is_late_.store(true, std::memory_order_relaxed);
    is_ending_.store(true, std::memory_order_relaxed);
    wake();
    const auto has_ended = [this] { return has_ended_.load(std::memory_order_acquire); };
    const auto removed = [this] { return saver_->counts().evicted.load(std::memory_order_relaxed); };
    std::uint64_t before = removed();
    bool ended = wait_for(has_ended, kLastMilliseconds);
    // The last runs may have many files to remove.
    while (!ended && removed() != before) {
        before = removed();
        ended = wait_for(has_ended, kLastMilliseconds);
    }
    messages_.print();
    return drained && ended;
}

bool TensorWriters::finish_unless_interrupted(std::uint32_t patience_ms) {
    if (drain(0)) return finish(0);
    const Interrupts interrupts;
    const char* hint = interrupts.are_counted() ? " Press Ctrl-C twice to skip the rest." : "";
    next_progress_.store(monotonic_nanoseconds() + kFirstLine, std::memory_order_relaxed);
    unsigned heeded = 0;
    const auto is_over = [&] {
        for (; heeded < interrupts.count() && !is_abandoned_.load(std::memory_order_relaxed); ++heeded) {
            if (heeded != 0) {
                abandon();
                continue;
            }
            hint = " Press Ctrl-C to skip the rest.";
            message(Severity::warn,
                    "interrupted with %llu tensors to go. The library still writes them. Press Ctrl-C again "
                    "to skip them.",
                    static_cast<unsigned long long>(unfinished_.load(std::memory_order_relaxed)));
        }
        messages_.print();
        if (is_progress_due()) print_progress(hint);
        return unfinished_.load(std::memory_order_acquire) == 0 ||
               is_abandoned_.load(std::memory_order_relaxed);
    };
    for (std::uint64_t before = handled(); !wait_for(is_over, patience_ms) && handled() != before;)
        before = handled();
    return finish(0);
}

void TensorWriters::abandon() {
    is_abandoned_.store(true, std::memory_order_relaxed);
    is_ending_.store(true, std::memory_order_relaxed);
    wake();
}

}  // namespace aoti_dbg
