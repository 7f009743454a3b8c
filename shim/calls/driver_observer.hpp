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
    std::array<const DriverObserver*, kMostDriverObservers> entries{};
    // By kind: bit n is set if entry n sees calls of that kind.
    std::array<std::uint8_t, kDriverKinds> before{};
    std::array<std::uint8_t, kDriverKinds> after{};
};
extern ActiveDriverObservers g_driver_observers;
inline bool is_driver_observed() {
    return g_driver_observers.count.load(std::memory_order_acquire) != 0;
}

/// Passes one driver call to the observers, from its constructor to end().
class ObservedDriverCall {
  public:
    explicit ObservedDriverCall(const DriverEvent& event);
    /// Returns the result.
    template <typename Result>
    Result end(Result result) const {
        after(static_cast<std::int32_t>(result));
        return result;
    }

  private:
    void after(std::int32_t result) const;

    const DriverEvent& event_;
    std::array<KeptByObserver, kMostDriverObservers> kept_{};
};

}  // namespace aoti_dbg
