// Records driver calls that wait for the device or query it (driver_waits), for reports of crashes and hangs.
#pragma once

#include "shim/calls/driver_observer.hpp"

namespace aoti_dbg {

class WaitObserver final : public DriverObserver {
  public:
    constexpr WaitObserver() = default;
    [[nodiscard]] DriverKinds kinds() const override;
    void before(const DriverEvent& event, KeptByObserver& kept) const override;
    void after(const DriverEvent& event, std::int32_t result, const KeptByObserver& kept) const override;
};

inline constexpr WaitObserver kWaitObserver;

}  // namespace aoti_dbg
