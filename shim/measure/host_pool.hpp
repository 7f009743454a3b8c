// Threads of our own that share work on the host with the thread that asks for it. They are made when they
// are first of use, sleep while nobody asks, and nobody ever waits for them but a caller whose part one of
// them is doing. One caller at a time has them; whoever else asks meanwhile does its work alone.
#pragma once

#include <atomic>
#include <cstdint>

#include "shim/runtime/own_thread.hpp"

namespace aoti_dbg {

/// Parts of a piece of work, each of them to be done once, by any thread and in any order.
struct SharedWork {
    static constexpr std::uint32_t kMostParts = 64;
    void (*do_part)(void* context, std::uint32_t part) = nullptr;  // neither throws nor forks
    void* context = nullptr;
    std::uint32_t parts = 0;  // at most kMostParts
};

class HostPool {
  public:
    using StartThread = bool (*)(void* (*run)(void*), void* argument);
    static constexpr std::uint32_t kMostThreads = 16;  // the caller is one of them

    /// The pool of this process; null where there is no memory for it.
    static HostPool* of_process();
    /// One that lives for ever.
    static HostPool* make(StartThread start_thread = start_own_thread);

    /// Does all parts and returns, `most_threads` at a time, the caller among them. Allocates nothing but the
    /// threads that are missing; where these cannot be had, it goes on with those that are there.
    void share(const SharedWork& work, std::uint32_t most_threads);

    /// Threads that were made in this process, callers aside.
    [[nodiscard]] std::uint32_t threads() const;

  private:
    struct Task;
    struct State;
    HostPool(State& state, StartThread start_thread) : state_(state), start_thread_(start_thread) {}
    void make_threads(std::uint32_t wanted);
    void share_with(std::uint32_t helpers, const SharedWork& work);
    static void* run_thread(void* state);

    State& state_;  // zeros in a fork's child
    StartThread start_thread_;
};

}  // namespace aoti_dbg
