// AOTI_DBG_CHECK=args: checks the arguments of runs and launches, and the results of calls.
#pragma once

#include "shim/calls/call_observer.hpp"

namespace aoti_dbg {

class CheckObserver final : public CallObserver {
  public:
    constexpr CheckObserver() = default;
    [[nodiscard]] CallMoments moments() const override;
    void model_loads(const LoadedObject& object, Parts& parts, Inspected& inspected) const override;
    void before(ThreadState& state, OpenCall& call) const override;
    void after(ThreadState& state, OpenCall& call, std::int32_t result) const override;
    void unwind(ThreadState& state, OpenCall& call, std::uintptr_t frame) const override;
};

inline constexpr CheckObserver kCheckObserver;

}  // namespace aoti_dbg
