// The interface between calls and features. A feature that watches calls is an observer: a folder of its own,
// and a line in library/features.cpp. Observers see a call in the order of that list, in the thread that
// makes it. They must not throw anything but std::bad_alloc, and must not wait for the device without a
// deadline.
#pragma once

#include <cstdint>
#include <span>

namespace aoti_dbg {

struct OpenCall;
struct ThreadState;

/// One object per feature, for all threads. What it keeps per thread is in ThreadState.
class CallObserver {
  public:
    /// Whether the options ask for it. Asked once, when the first session of the process starts.
    [[nodiscard]] virtual bool is_on() const = 0;

    /// Every call, also one that is not selected: find what the other observers need to know of it.
    virtual void identify(ThreadState& /*state*/, OpenCall& /*call*/) const {}
    /// The call is not selected and not recorded.
    virtual void skip(ThreadState& /*state*/, const OpenCall& /*call*/) const {}
    /// The call is recorded and about to happen. It becomes the innermost one afterwards.
    virtual void before(ThreadState& /*state*/, OpenCall& /*call*/) const {}
    /// The call returned. It is no longer the innermost one.
    virtual void after(ThreadState& /*state*/, const OpenCall& /*call*/, std::int32_t /*result*/) const {}
    /// An exception unwound the call, which is still the innermost one. The thread's stack now ends at
    /// `frame`.
    virtual void unwind(ThreadState& /*state*/, const OpenCall& /*call*/, std::uintptr_t /*frame*/) const {}

  protected:
    constexpr CallObserver() = default;
    constexpr ~CallObserver() = default;
    CallObserver(const CallObserver&) = default;
    CallObserver& operator=(const CallObserver&) = default;
};

/// All features that watch calls, in their order: library/features.cpp has the list.
std::span<const CallObserver* const> all_call_observers();

/// Those that are on. Empty until activate_call_observers().
std::span<const CallObserver* const> active_call_observers();
void activate_call_observers();

}  // namespace aoti_dbg
