// The interface between calls and features. A feature that watches calls is an observer, with its own folder
// and a line in library/features.cpp. Observers see a call in the order of that list, in the calling thread.
// They must throw nothing but std::bad_alloc. They must not wait for the device without a deadline.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "shim/calls/thread_state.hpp"

// The library exports none of these, so it need not look up their addresses.
#pragma GCC visibility push(hidden)

namespace aoti_dbg {

struct Inspected;
struct LoadedObject;
class Parts;

/// The functions of an observer that calls run. A feature that is off has none.
struct CallMoments {
    bool identify = false;
    bool skip = false;
    bool before = false;
    bool after = false;
    // Only for calls whose name or tensors the options select, and for runs if they select anything.
    bool before_requested = false;
    bool after_requested = false;
    bool unwind = false;
    bool end_run = false;
    // False if before() or after() does nothing for a launch that came through a driver hook.
    bool before_hooked = true;
    bool after_hooked = true;
};

/// One object per feature, shared by all threads. Its per-thread data is in ThreadState.
class CallObserver {
  public:
    /// Returns what the options request. The library asks when a session starts.
    [[nodiscard]] virtual CallMoments moments() const = 0;

    /// Runs for every call, even one that is not selected, if any feature inspects tensors. Finds what the
    /// other observers need to know about the call.
    virtual void identify(ThreadState& state, OpenCall& call) const;
    /// The call is not selected and not recorded. If it is a skipped run, observers do not see its calls
    /// either.
    virtual void skip(ThreadState& state, const OpenCall& call) const;
    /// The call is about to start. It becomes the innermost call afterwards. It is recorded if `call.record`
    /// is not null. A call that is not selected gets here, too, if the options follow such calls.
    virtual void before(ThreadState& state, OpenCall& call) const;
    /// The call returned. It is no longer the innermost one.
    virtual void after(ThreadState& state, OpenCall& call, std::int32_t result) const;
    /// An exception unwound the call, which is still the innermost one. The thread's stack now ends at
    /// `frame`.
    virtual void unwind(ThreadState& /*state*/, OpenCall& /*call*/, std::uintptr_t /*frame*/) const {}
    /// A run ended, and all observers have seen its return or its exception.
    virtual void end_run(ThreadState& /*state*/, const OpenCall& /*run*/) const {}
    /// A model loads, before any of its calls. The observer adds its data on the model to `parts`, and
    /// requests what the library must inspect besides calls. It runs even if no session has started.
    virtual void model_loads(const LoadedObject& /*object*/, Parts& /*parts*/,
                             Inspected& /*inspected*/) const {}

  protected:
    constexpr CallObserver() = default;
    constexpr ~CallObserver() = default;
    CallObserver(const CallObserver&) = default;
    CallObserver& operator=(const CallObserver&) = default;
};

/// Returns all features that watch calls, in the order of library/features.cpp.
std::span<const CallObserver* const> all_call_observers();

/// The observers of one moment.
class ObserverList {
  public:
    void add(const CallObserver* observer) { observers_.at(count_++) = observer; }
    [[nodiscard]] const CallObserver* const* begin() const { return observers_.data(); }
    [[nodiscard]] const CallObserver* const* end() const { return observers_.data() + count_; }
    [[nodiscard]] bool empty() const { return count_ == 0; }

  private:
    std::size_t count_ = 0;  // first, so that an empty list costs one cache line
    std::array<const CallObserver*, 9> observers_{};
};

struct ActiveObservers {
    bool describes_early = false;              // identify() or skip() needs what is known about the call
    ObserverList before_hooked, after_hooked;  // launches that are not requested
    ObserverList before_unrequested, after_unrequested;
    ObserverList identify, skip, before, after, unwind, end_run;

    [[nodiscard]] const ObserverList& before_of(const OpenCall& call) const {
        if (call.is_requested) return before;
        return is_hooked_launch(call) ? before_hooked : before_unrequested;
    }
    [[nodiscard]] const ObserverList& after_of(const OpenCall& call) const {
        if (call.is_requested) return after;
        return is_hooked_launch(call) ? after_hooked : after_unrequested;
    }

  private:
    /// A launch of a Python wrapper has values.
    static bool is_hooked_launch(const OpenCall& call) {
        return ring::is_launch(call.kind) && call.passage.values == nullptr;
    }
};

/// Inline, because every call reads it. Empty until activate_call_observers().
extern ActiveObservers g_active_observers;
inline const ActiveObservers& active_observers() {
    return g_active_observers;
}
void activate_call_observers();

}  // namespace aoti_dbg

#pragma GCC visibility pop
