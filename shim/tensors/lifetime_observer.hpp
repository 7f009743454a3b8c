// Finds the stream of runs and ops. Follows the tensors of a run from creation to free, for the fault report.
#pragma once

#include "shim/calls/call_observer.hpp"

namespace aoti_dbg {

class LifetimeObserver final : public CallObserver {
  public:
    constexpr LifetimeObserver() = default;
    [[nodiscard]] CallMoments moments() const override;
    void model_loads(const LoadedObject& object, Parts& parts, Inspected& inspected) const override;
    void before(ThreadState& state, OpenCall& call) const override;
    void after(ThreadState& state, OpenCall& call, std::int32_t result) const override;
};

inline constexpr LifetimeObserver kLifetimeObserver;

}  // namespace aoti_dbg
