// AOTI_DBG_CHECK=races: passes to the race watch which memory a call accesses.
#pragma once

#include "shim/calls/call_observer.hpp"

namespace aoti_dbg {

class RaceObserver final : public CallObserver {
  public:
    constexpr RaceObserver() = default;
    [[nodiscard]] CallMoments moments() const override;
    void before(ThreadState& state, OpenCall& call) const override;
    void after(ThreadState& state, OpenCall& call, std::int32_t result) const override;
};

inline constexpr RaceObserver kRaceObserver;

}  // namespace aoti_dbg
