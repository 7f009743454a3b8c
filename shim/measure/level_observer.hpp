// Applies the levels to a call: decides what happens to its tensors, and prints its name.
#pragma once

#include "shim/calls/call_observer.hpp"

namespace aoti_dbg {

class LevelObserver final : public CallObserver {
  public:
    constexpr LevelObserver() = default;
    [[nodiscard]] CallMoments moments() const override;
    void before(ThreadState& state, OpenCall& call) const override;
    void after(ThreadState& state, OpenCall& call, std::int32_t result) const override;
};

inline constexpr LevelObserver kLevelObserver;

}  // namespace aoti_dbg
