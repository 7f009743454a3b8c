// Finds the model data, the site and the position in the wrapper source of each call, for the other
// observers.
#pragma once

#include "shim/calls/call_observer.hpp"

namespace aoti_dbg {

class CallIdentifier final : public CallObserver {
  public:
    constexpr CallIdentifier() = default;
    [[nodiscard]] CallMoments moments() const override;
    void model_loads(const LoadedObject& object, Parts& parts, Inspected& inspected) const override;
    void identify(ThreadState& state, OpenCall& call) const override;
};
inline constexpr CallIdentifier kCallIdentifier;

}  // namespace aoti_dbg
