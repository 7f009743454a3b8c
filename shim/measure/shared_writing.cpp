#include "shim/measure/shared_writing.hpp"

#include "shim/runtime/clock.hpp"
#include "shim/runtime/own_thread.hpp"
#include "shim/runtime/process.hpp"

namespace aoti_dbg {
namespace {

constexpr std::uint64_t kNap = 50'000;

// Only the disk delays the end of the other thread.
constexpr std::uint64_t kPatienceAtEnd = 2'000'000'000;

}  // namespace

void SharedWriting::begin_batch() {
    // The call that began the batch is taken.
    if (queue_.left() + 1 < kCallsWorthSharing || !start_thread()) return;
    sharing_.store(Sharing::yes, std::memory_order_release);
    sharing_.notify_one();
}

void SharedWriting::take(const EventQueue::Taken& taken) {
    // The other thread must not see a call that this one writes.
    if (sharing_.load(std::memory_order_relaxed) == Sharing::no) write_next(taken);
    collected_.store(collected_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

bool SharedWriting::finish_batch() {
    if (sharing_.load(std::memory_order_relaxed) == Sharing::no) return true;
    while (done() != collected_.load(std::memory_order_relaxed)) {
        if (!wait_for_progress()) return false;
    }
    sharing_.store(Sharing::no, std::memory_order_relaxed);
    return true;
}

bool SharedWriting::wait_for_progress() {
    if (thread_.load(std::memory_order_acquire) != Thread::runs) return false;
    nap(kNap);
    return true;
}

void SharedWriting::end() {
    sharing_.store(Sharing::over, std::memory_order_release);
    sharing_.notify_one();
    const std::uint64_t began = monotonic_nanoseconds();
    while (thread_.load(std::memory_order_acquire) == Thread::runs &&
           monotonic_nanoseconds() - began < kPatienceAtEnd)
        nap(kNap);
}

bool SharedWriting::start_thread() {
    if (thread_.load(std::memory_order_relaxed) == Thread::runs) return true;
    if (cannot_start_) return false;
    thread_.store(Thread::runs, std::memory_order_relaxed);
    if (start_own_thread(run_thread, this)) return true;
    thread_.store(Thread::none, std::memory_order_relaxed);
    cannot_start_ = true;
    return false;
}

void* SharedWriting::run_thread(void* writing) {
    name_own_thread();
    auto& own = *static_cast<SharedWriting*>(writing);
    Thread end = Thread::has_ended;
    try {
        own.write_collected();
    } catch (...) {
        switch_off("out of memory while writing results");
        end = Thread::has_failed;
    }
    own.thread_.store(end, std::memory_order_release);
    return nullptr;
}

void SharedWriting::write_collected() {
    for (;;) {
        const Sharing sharing = sharing_.load(std::memory_order_acquire);
        if (sharing == Sharing::over) return;
        // This is read before the number of written calls, to which the other thread adds first.
        const std::uint64_t collected = collected_.load(std::memory_order_acquire);
        if (done_.load(std::memory_order_relaxed) < collected) {
            write_next(queue_.follow());
        } else if (sharing == Sharing::no) {
            sharing_.wait(Sharing::no, std::memory_order_acquire);
        } else {
            nap(kNap);
        }
    }
}

void SharedWriting::write_next(const EventQueue::Taken& taken) {
    write_(taken);
    done_.store(done_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

}  // namespace aoti_dbg
