// The completion markers of a session. The first launch decides whether there are any, and creates them.
#pragma once

#include <atomic>
#include <mutex>

#include "shim/calls/session_part.hpp"
#include "shim/faults/completion_markers.hpp"

namespace aoti_dbg {

class MarkersPart final : public SessionPart {
  public:
    explicit MarkersPart(FlightRing& ring) : ring_(ring) {}

    /// Returns null if launches get no completion markers.
    [[nodiscard]] CompletionMarkers* markers() {
        return is_decided_.load(std::memory_order_acquire) ? present() : decide();
    }
    /// Returns null if they were not created yet.
    [[nodiscard]] CompletionMarkers* present() const { return markers_.load(std::memory_order_acquire); }

    void thread_ends(const ThreadState& state) override;
    void finish() override;

  private:
    CompletionMarkers* decide();

    FlightRing& ring_;
    std::mutex mutex_;  // for the decision
    std::atomic<bool> is_decided_{false};
    std::atomic<CompletionMarkers*> markers_{nullptr};  // never freed: threads may be using it
};

/// Returns null if launches of the session get no markers.
CompletionMarkers* markers_of(const Session& session);
/// Returns null if they were not created yet.
CompletionMarkers* present_markers(const Session& session);

/// Gives the session this part if it has a ring.
void start_markers(Session& session);

}  // namespace aoti_dbg
