// The completion markers of a session. The first launch decides whether there are any, and creates them.
#pragma once

#include "shim/calls/session_part.hpp"
#include "shim/faults/completion_markers.hpp"
#include "shim/runtime/created_once.hpp"

namespace aoti_dbg {

class MarkersPart final : public SessionPart {
  public:
    explicit MarkersPart(FlightRing& ring) : ring_(ring) {}

    /// Returns null if launches get no completion markers.
    [[nodiscard]] CompletionMarkers* markers() {
        return markers_.get([this] { return create(); });
    }
    /// Returns null if they were not created yet.
    [[nodiscard]] CompletionMarkers* present() const { return markers_.present(); }

    void thread_ends(const ThreadState& state) override;
    void finish() override;

  private:
    CompletionMarkers* create() const;

    FlightRing& ring_;
    CreatedOnce<CompletionMarkers> markers_;
};

/// Returns null if launches of the session get no markers.
CompletionMarkers* markers_of(const Session& session);
/// Returns null if they were not created yet.
CompletionMarkers* present_markers(const Session& session);

/// Gives the session this part if it has a ring.
void start_markers(Session& session);

}  // namespace aoti_dbg
