// Writes calls whose results are collected. If many calls wait, a second thread writes them while the first
// one collects the results of later calls. Calls are written in the order of the queue.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "base/cache_line.hpp"
#include "shim/measure/event_queue.hpp"

namespace aoti_dbg {

/// One thread collects and calls everything here, except done(). It must call finish_batch() before
/// EventQueue::take() begins the next batch.
class SharedWriting {
  public:
    using Write = std::function<void(const EventQueue::Taken&)>;

    /// The queue must outlive this object, and this object must outlive its thread: call end().
    SharedWriting(EventQueue& queue, Write write) : queue_(queue), write_(std::move(write)) {}

    /// Call it when the first call of a batch is taken. A small batch stays in this thread: another one would
    /// wake up too late.
    void begin_batch();
    /// The results of the call are collected. It is written now, or by the other thread soon.
    void take(const EventQueue::Taken& taken);
    /// Waits until all calls are written. Returns false if the other thread has failed.
    bool finish_batch();

    /// Waits until the other thread has written some calls. Returns false if none is going to.
    bool wait_for_progress();
    /// Ends the other thread. Calls that it has not written are lost.
    void end();

    /// Returns the number of written calls. Call it from any thread.
    [[nodiscard]] std::uint64_t done() const { return done_.load(std::memory_order_acquire); }

    /// The least number of calls in a batch that the threads share.
    static constexpr std::size_t kCallsWorthSharing = 32;

  private:
    enum class Sharing : std::uint32_t { no, yes, over };
    enum class Thread : std::uint32_t { none, runs, has_failed, has_ended };

    bool start_thread();
    static void* run_thread(void* writing);
    void write_collected();
    void write_next(const EventQueue::Taken& taken);

    EventQueue& queue_;
    Write write_;
    bool cannot_start_ = false;
    std::atomic<Sharing> sharing_{Sharing::no};  // of the current batch
    std::atomic<Thread> thread_{Thread::none};
    std::atomic<std::uint64_t> collected_{0};  // calls
    alignas(kCacheLine) std::atomic<std::uint64_t> done_{0};
};

}  // namespace aoti_dbg
