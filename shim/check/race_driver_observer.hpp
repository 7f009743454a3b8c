// AOTI_DBG_CHECK=races: passes driver calls that order streams or access memory to the race check.
#pragma once

#include "shim/calls/driver_observer.hpp"

namespace aoti_dbg {

class RaceDriverObserver final : public DriverObserver {
  public:
    constexpr RaceDriverObserver() = default;
    [[nodiscard]] DriverKinds kinds() const override;
    void before(const DriverEvent& event, KeptByObserver& kept) const override;
    void after(const DriverEvent& event, std::int32_t result, const KeptByObserver& kept) const override;
};

inline constexpr RaceDriverObserver kRaceDriverObserver;

}  // namespace aoti_dbg
