// With --capture-on fault: sees the error of a fault, whichever driver call returns it first. From then on
// no more tensors and launches are captured, so that newer runs do not replace the one with the fault.
#pragma once

#include "shim/calls/driver_observer.hpp"

namespace aoti_dbg {

class EndedContextObserver final : public DriverObserver {
  public:
    constexpr EndedContextObserver() = default;
    [[nodiscard]] DriverKinds kinds() const override;
    void after(const DriverEvent& event, std::int32_t result, const KeptByObserver& kept) const override;
};
inline constexpr EndedContextObserver kEndedContextObserver;

}  // namespace aoti_dbg
