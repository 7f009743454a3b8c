// Launches pending measurements before driver calls that change memory or reveal a stream's progress.
#pragma once

#include "shim/calls/driver_observer.hpp"

namespace aoti_dbg {

class PendingObserver final : public DriverObserver {
  public:
    constexpr PendingObserver() = default;
    [[nodiscard]] DriverKinds kinds() const override;
    [[nodiscard]] DriverKinds kinds_after() const override {
        return kinds_of({DriverKind::synchronize_event});
    }
    /// The tasks are measurements that wait. A run launches and forgets its measurements when it ends, and
    /// when a skipped run begins inside of it.
    [[nodiscard]] const std::atomic<std::uint32_t>* tasks() const override;
    void before(const DriverEvent& event, KeptByObserver& kept) const override;
    void after(const DriverEvent& event, std::int32_t result, const KeptByObserver& kept) const override;
};

inline constexpr PendingObserver kPendingObserver;

}  // namespace aoti_dbg
