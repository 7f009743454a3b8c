// Finds threads that make no progress for long, and threads that query the device again and again without
// progress.
// Only one thread may use it.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "serializer/flight_ring_reader.hpp"

namespace aoti_dbg {

class Session;
struct Name;
struct ThreadProgress;

/// A thread as the last looks saw it.
struct SeenThread {
    std::uint64_t steps = 0;
    std::uint64_t stalled_for = 0;  // nanoseconds without a step
    bool is_judged = false;         // since then
    bool is_reported = false;
    bool is_reported_as_polling = false;  // reported as polling, outside of any call
    std::uint64_t look = 0;               // the last look that saw the thread
    // The thread's query to the device.
    const Name* question = nullptr;
    std::uint64_t asked_of = 0;
    std::uint64_t stream = 0;
    std::uintptr_t stack = 0;
    std::uint64_t answers = 0;
    std::uint64_t asked = 0;   // nanoseconds from the first answer to the last
    std::uint64_t silent = 0;  // nanoseconds since the last answer

    [[nodiscard]] std::uint64_t asks(std::uint64_t limit) const {
        return question != nullptr && silent < limit / 2 ? asked : 0;
    }
};

class StalledThreads {
  public:
    /// `limit` is in nanoseconds.
    explicit StalledThreads(std::uint64_t limit) : limit_(limit) {}

    /// Inspects all threads of the session. `elapsed` is the time since the last inspection. Sets `came_back`
    /// if a reported thread moves again or is gone. Returns false if the list of threads is locked for long.
    bool look(Session& session, std::uint64_t elapsed, bool& came_back);
    /// Returns the threads that hang and were not judged since then.
    [[nodiscard]] std::vector<std::uint32_t> unjudged() const;
    /// Returns true if the thread counts as reported from now on: it is inside a call, or it asks in vain.
    bool judge(std::uint32_t tid, const ring::Contents& ring);
    /// Clears reported threads that are now known to be outside of any call. Returns whether there was one.
    bool forget_outside(const ring::Contents& ring);

    /// The thread may also be idle outside of any call, which only the ring shows.
    [[nodiscard]] bool hangs(const SeenThread& seen) const { return seen.stalled_for >= limit_; }
    [[nodiscard]] bool is_any_reported() const;
    /// True if a thread polls but has not polled for long enough.
    [[nodiscard]] bool is_any_asking() const;
    [[nodiscard]] const std::map<std::uint32_t, SeenThread>& all() const { return threads_; }

  private:
    bool note(std::uint32_t tid, const ThreadProgress& progress, std::uint64_t elapsed);
    bool note_question(SeenThread& seen, const ThreadProgress& progress, std::uint64_t elapsed);

    const std::uint64_t limit_;
    std::map<std::uint32_t, SeenThread> threads_;
    std::uint64_t look_ = 0;
    std::uint64_t shortest_ = 0;  // the shortest time without a step of any thread
};

}  // namespace aoti_dbg
