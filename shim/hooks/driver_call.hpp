// The record of a driver call that is a launch, or that matters to a report of a crash. No exception escapes,
// and errno does not change.
#pragma once

#include "shim/hooks/forward.hpp"  // first, because it configures cuda.h

#include <cstdint>

#include "base/errno_keeper.hpp"
#include "serializer/flight_ring_format.hpp"
#include "shim/calls/passage.hpp"
#include "shim/runtime/launch_count.hpp"
#include "shim/runtime/process.hpp"

// The caller's stack pointer before the call, as in the thunk. It is two words above our frame pointer.
#define AOTI_DBG_CALLER_FRAME \
    (reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) + 2 * sizeof(void*))

namespace aoti_dbg {

class CompletionMarkers;
struct Name;
struct ThreadState;

/// Where a hook was called.
struct Caller {
    std::uintptr_t frame;
    const void* address = nullptr;
};

/// Records one driver call from here to end().
class DriverCall {
  public:
    /// A call without a label gets the function's name.
    /// `launch` has the function and its parameters, if there are any.
    DriverCall(ring::CallKind kind, const char* label, CUstream stream, const Passage& launch, Caller by);
    CUresult end(CUresult result);

  private:
    void begin(ring::CallKind kind, const char* label, const Passage& launch, const void* caller);
    [[nodiscard]] CompletionMarkers* markers_of(ThreadState& state) const;

    CUstream stream_;
    std::uintptr_t frame_;
    bool is_launch_;
    LaunchNumber launch_;
    bool begun_ = false;
};

/// Forwards a call that is recorded for crash reports. It is never printed.
template <auto kHook, typename... Arguments>
CUresult forward_lifecycle(const char* label, Caller by, Arguments... arguments) {
    auto* const real = real_function<kHook>();
    if (real == nullptr) return kNoDriver;
    if (!observing()) return real(arguments...);
    DriverCall call(ring::CallKind::lifecycle, label, nullptr, Passage{}, by);
    return call.end(real(arguments...));
}

/// For work that the library does besides a call.
template <typename Work>
void unless_out_of_memory(Work work) {
    const ErrnoKeeper errno_keeper;
    try {
        work();
    } catch (...) {
        switch_off("out of memory while recording the name of a function");
    }
}

}  // namespace aoti_dbg
