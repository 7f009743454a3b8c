// Captures launches for `aoti-dbg replay`.
#pragma once

#include "shim/calls/call_observer.hpp"
#include "shim/calls/passage.hpp"

namespace aoti_dbg {

class CaptureObserver final : public CallObserver {
  public:
    constexpr CaptureObserver() = default;
    [[nodiscard]] CallMoments moments() const override;
    void before(ThreadState& state, OpenCall& call) const override;
};
inline constexpr CaptureObserver kCaptureObserver;

/// Captures a launch inside of a Python wrapper's call of a Triton kernel, which knows the tensors. If the
/// call launches more, because it tunes the kernel, the last one stays. Does nothing unless the options
/// select the call.
void capture_inside(ThreadState& state, const OpenCall& call, const Passage& launch);

}  // namespace aoti_dbg
