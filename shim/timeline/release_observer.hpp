// Notes that a context may end, for the timeline by markers: the program releases the device's own context.
#pragma once

#include "shim/calls/driver_observer.hpp"

namespace aoti_dbg {

class ReleaseObserver final : public DriverObserver {
  public:
    constexpr ReleaseObserver() = default;
    [[nodiscard]] DriverKinds kinds() const override;
    void before(const DriverEvent& event, KeptByObserver& kept) const override;
};
inline constexpr ReleaseObserver kReleaseObserver;

}  // namespace aoti_dbg
