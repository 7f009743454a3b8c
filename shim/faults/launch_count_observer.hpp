// Counts the kernels with which the driver copies and fills memory (runtime/launch_count).
#pragma once

#include "shim/calls/driver_observer.hpp"

namespace aoti_dbg {

class LaunchCountObserver final : public DriverObserver {
  public:
    constexpr LaunchCountObserver() = default;
    [[nodiscard]] DriverKinds kinds() const override;
    [[nodiscard]] DriverKinds kinds_after() const override { return 0; }
    void before(const DriverEvent& event, KeptByObserver& kept) const override;
};

inline constexpr LaunchCountObserver kLaunchCountObserver;

}  // namespace aoti_dbg
