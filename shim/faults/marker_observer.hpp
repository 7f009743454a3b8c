// Passes the ends and failures of contexts to the completion markers.
#pragma once

#include "shim/calls/driver_observer.hpp"

namespace aoti_dbg {

class MarkerObserver final : public DriverObserver {
  public:
    constexpr MarkerObserver() = default;
    [[nodiscard]] DriverKinds kinds() const override;
    void before(const DriverEvent& event, KeptByObserver& kept) const override;
    void after(const DriverEvent& event, std::int32_t result, const KeptByObserver& kept) const override;
};

inline constexpr MarkerObserver kMarkerObserver;

}  // namespace aoti_dbg
