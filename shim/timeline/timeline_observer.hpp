// Records when each recorded call begins and ends, for the timeline.
#pragma once

#include "shim/calls/call_observer.hpp"

namespace aoti_dbg {

class TimelineObserver final : public CallObserver {
  public:
    constexpr TimelineObserver() = default;
    [[nodiscard]] CallMoments moments() const override;
    void before(ThreadState& state, OpenCall& call) const override;
    void after(ThreadState& state, OpenCall& call, std::int32_t result) const override;
    void unwind(ThreadState& state, OpenCall& call, std::uintptr_t frame) const override;
};
inline constexpr TimelineObserver kTimelineObserver;

}  // namespace aoti_dbg
