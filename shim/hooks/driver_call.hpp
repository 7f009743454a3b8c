// The record of a driver call that is a launch, or that matters to a report of a crash. No exception escapes,
// and errno does not change.
#pragma once

#include "shim/hooks/forward.hpp"  // first, because it configures cuda.h

#include <cstdint>

#include "base/errno_keeper.hpp"
#include "serializer/flight_ring_format.hpp"
#include "shim/calls/calls.hpp"
#include "shim/calls/passage.hpp"
#include "shim/runtime/launch_count.hpp"
#include "shim/runtime/process.hpp"

// The caller's stack pointer before the call, as in the thunk. It is two words above our frame pointer.
#define AOTI_DBG_CALLER_FRAME \
    (reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) + 2 * sizeof(void*))

namespace aoti_dbg {

class CompletionMarkers;

/// Where a hook was called.
struct Caller {
    std::uintptr_t frame;
    const void* address = nullptr;
};

/// Records one launch from begin_record() to end().
class LaunchCall {
  public:
    /// `launch` has the function and its parameters. `frame` is the caller's stack pointer.
    LaunchCall(ring::CallKind kind, CUstream stream, const Passage& launch, std::uintptr_t frame) {
        start_.kind = kind;
        start_.frame = frame;
        start_.stream = reinterpret_cast<std::uintptr_t>(stream);
        start_.passage = launch;
    }
    /// `caller` is the address that the call returns to.
    void begin_record(const void* caller);
    /// Returns the result.
    CUresult end(CUresult result) {
        if (result != CUDA_SUCCESS) take_back(start_.launch);
        if (begun_ && observing()) end_record(result);
        return result;
    }

  private:
    void begin(const void* caller);
    void end_record(CUresult result);
    [[nodiscard]] CUstream stream() const { return reinterpret_cast<CUstream>(start_.stream); }

    CallStart start_;
    CompletionMarkers* markers_ = nullptr;  // null: the launch gets no markers
    bool begun_ = false;
};

/// Records one call that matters to a report of a crash, from here to end().
class LifecycleCall {
  public:
    LifecycleCall(const char* label, Caller by);
    /// Returns the result.
    [[nodiscard]] CUresult end(CUresult result) const;

  private:
    std::uintptr_t frame_;
    bool begun_ = false;
};

/// Forwards a call that is recorded for crash reports. It is never printed.
template <auto kHook, typename... Arguments>
CUresult forward_lifecycle(const char* label, Caller by, Arguments... arguments) {
    auto* const real = real_function<kHook>();
    if (real == nullptr) return kNoDriver;
    if (!observing()) return real(arguments...);
    const LifecycleCall call(label, by);
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
