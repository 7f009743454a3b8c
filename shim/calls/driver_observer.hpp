// The interface between hooked driver calls and features, as call_observer.hpp is for calls of models. An
// observer sees an event in the calling thread, even before the process has a session and in a forked child.
// It must keep errno. It must not throw, except std::bad_alloc where a context ends.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "shim/calls/driver_event.hpp"
#include "shim/calls/skipped_runs.hpp"

// The library exports none of these, so it need not look up their addresses.
#pragma GCC visibility push(hidden)

namespace aoti_dbg {

/// What an observer keeps of one driver call from before() to after().
struct KeptByObserver {
    void* pointer = nullptr;
    std::uint64_t number = 0;
};

/// One object per feature, shared by all threads.
class DriverObserver {
  public:
    /// Returns the kinds that the observer sees. A feature that is off has none. The library asks when it has
    /// read the options.
    [[nodiscard]] virtual DriverKinds kinds() const = 0;
    /// Returns the kinds among them that after() sees.
    [[nodiscard]] virtual DriverKinds kinds_after() const { return kinds(); }
    /// Returns a counter of tasks. While it is 0, the observer needs only driver calls inside of a call or an
    /// inspected run. Returns null if it needs all of them.
    [[nodiscard]] virtual const std::atomic<std::uint32_t>* tasks() const { return nullptr; }

    /// The real function is about to be called.
    virtual void before(const DriverEvent& /*event*/, KeptByObserver& /*kept*/) const {}
    /// The real function has returned a CUresult. The last observer of the list sees this first.
    virtual void after(const DriverEvent& /*event*/, std::int32_t /*result*/,
                       const KeptByObserver& /*kept*/) const {}

  protected:
    constexpr DriverObserver() = default;
    constexpr ~DriverObserver() = default;
    DriverObserver(const DriverObserver&) = default;
    DriverObserver& operator=(const DriverObserver&) = default;
};

/// Returns all features that watch driver calls, in the order of library/features.cpp.
std::span<const DriverObserver* const> all_driver_observers();

inline constexpr std::size_t kMostDriverObservers = 8;

/// Read by every hook. Filled once, by activate_driver_observers() (runtime/process.hpp).
struct ActiveDriverObservers {
    std::atomic<std::size_t> count{0};
    const std::atomic<std::uint32_t>* tasks = nullptr;  // null unless there is one entry, and it has tasks
    std::array<const DriverObserver*, kMostDriverObservers> entries{};
    // By kind: bit n is set if entry n sees calls of that kind.
    std::array<std::uint8_t, kDriverKinds> before{};
    std::array<std::uint8_t, kDriverKinds> after{};
};
extern ActiveDriverObservers g_driver_observers;
/// True if an observer sees calls of this kind.
inline bool is_kind_observed(DriverKind kind) {
    const auto place = static_cast<std::size_t>(kind);
    return g_driver_observers.before[place] != 0;  // after() sees a part of these
}
/// True if an observer may need driver calls even outside of inspected runs.
inline bool is_every_driver_call_observed() {
    if (g_driver_observers.count.load(std::memory_order_acquire) == 0) return false;
    const std::atomic<std::uint32_t>* const tasks = g_driver_observers.tasks;
    return tasks == nullptr || tasks->load(std::memory_order_relaxed) != 0;
}
/// True if an observer may need the driver call that the thread is about to make.
inline bool is_driver_observed() {
    if (g_driver_observers.count.load(std::memory_order_acquire) == 0) return false;
    if (is_every_driver_call_observed()) return true;
    const ThreadState* const state = t_thread_state;
    return state != nullptr && state->depth != 0 && !in_skipped_run();
}

/// Passes one driver call to the observers, from its constructor to end().
class ObservedDriverCall {
  public:
    explicit ObservedDriverCall(const DriverEvent& event);
    /// Returns the result.
    template <typename Result>
    Result end(Result result) const {
        if (g_driver_observers.after[static_cast<std::size_t>(event_.kind)] != 0)
            after(static_cast<std::int32_t>(result));
        return result;
    }

  private:
    void after(std::int32_t result) const;

    const DriverEvent& event_;
    std::array<KeptByObserver, kMostDriverObservers> kept_;  // those of the observers that saw the call
};

}  // namespace aoti_dbg

#pragma GCC visibility pop
