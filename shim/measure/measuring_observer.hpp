// Level 2 and the search for NaN: measures the tensors of calls, and the inputs and outputs of runs.
#pragma once

#include "shim/calls/call_observer.hpp"

namespace aoti_dbg {

class MeasuringObserver final : public CallObserver {
  public:
    constexpr MeasuringObserver() = default;
    [[nodiscard]] CallMoments moments() const override;
    void skip(ThreadState& state, const OpenCall& call) const override;
    void before(ThreadState& state, OpenCall& call) const override;
    void after(ThreadState& state, OpenCall& call, std::int32_t result) const override;
    void unwind(ThreadState& state, OpenCall& call, std::uintptr_t frame) const override;
};

inline constexpr MeasuringObserver kMeasuringObserver;

}  // namespace aoti_dbg
