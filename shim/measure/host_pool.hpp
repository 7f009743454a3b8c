// Threads of the library that share host work with a calling thread. They are created at first use and sleep
// while there is no work. A caller waits only for a thread that is doing one of its parts. One caller at a
// time uses the pool; any other caller works alone meanwhile.
#pragma once

#include <atomic>
#include <cstdint>

#include "shim/runtime/own_thread.hpp"

namespace aoti_dbg {

/// A piece of work in parts. Each part is done once, by any thread and in any order.
struct SharedWork {
    static constexpr std::uint32_t kMostParts = 64;
    void (*do_part)(void* context, std::uint32_t part) = nullptr;  // must not throw or fork
    void* context = nullptr;
    std::uint32_t parts = 0;  // at most kMostParts
};

class HostPool {
  public:
    using StartThread = bool (*)(void* (*run)(void*), void* argument);
    static constexpr std::uint32_t kMostThreads = 16;  // including the caller

    /// Returns the pool of this process, or null if there is no memory for it.
    static HostPool* of_process();
    /// Creates a pool that lives forever.
    static HostPool* make(StartThread start_thread = start_own_thread);

    /// Does all parts with up to `most_threads` threads, including the caller, then returns. It allocates
    /// nothing except missing threads. If they cannot be created, it continues with the existing ones.
    void share(const SharedWork& work, std::uint32_t most_threads);

    /// Returns the number of threads created in this process, without callers.
    [[nodiscard]] std::uint32_t threads() const;

  private:
    struct Task;
    struct State;
    HostPool(State& state, StartThread start_thread) : state_(state), start_thread_(start_thread) {}
    void make_threads(std::uint32_t requested);
    void share_with(std::uint32_t helpers, const SharedWork& work);
    static void* run_thread(void* state);

    State& state_;  // zeroed in a fork's child
    StartThread start_thread_;
};

}  // namespace aoti_dbg
