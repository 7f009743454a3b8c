// AOTI_DBG_TRIAGE: passes driver calls that allocate or free memory to the map of allocations.
#pragma once

#include "shim/calls/driver_observer.hpp"

namespace aoti_dbg {

class AllocationObserver final : public DriverObserver {
  public:
    constexpr AllocationObserver() = default;
    [[nodiscard]] DriverKinds kinds() const override;
    void before(const DriverEvent& event, KeptByObserver& kept) const override;
    void after(const DriverEvent& event, std::int32_t result, const KeptByObserver& kept) const override;
};

inline constexpr AllocationObserver kAllocationObserver;

}  // namespace aoti_dbg
