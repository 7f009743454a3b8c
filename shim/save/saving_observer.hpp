// Level 1: saves the tensors of calls, and the inputs and outputs of runs.
#pragma once

#include "shim/calls/call_observer.hpp"

namespace aoti_dbg {

class SavingObserver final : public CallObserver {
  public:
    constexpr SavingObserver() = default;
    [[nodiscard]] CallMoments moments() const override;
    void before(ThreadState& state, OpenCall& call) const override;
    void after(ThreadState& state, OpenCall& call, std::int32_t result) const override;
    void end_run(ThreadState& state, const OpenCall& run) const override;
};
inline constexpr SavingObserver kSavingObserver;

}  // namespace aoti_dbg
