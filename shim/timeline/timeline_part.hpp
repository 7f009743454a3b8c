// The timeline of a session. The first call that finds a device starts it.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "shim/calls/session_part.hpp"
#include "shim/runtime/created_once.hpp"
#include "shim/timeline/call_times.hpp"
#include "shim/timeline/cupti_recorder.hpp"
#include "shim/timeline/timeline_output.hpp"

namespace aoti_dbg {

/// The log of a thread's calls.
struct TimedThread {
    CallTimes* times = nullptr;
    bool is_asked = false;        // so a thread without a log asks once
    std::uint64_t looked_ns = 0;  // when no driver was loaded
};

class TimelinePart final : public SessionPart {
  public:
    explicit TimelinePart(std::string folder) : folder_(std::move(folder)) {}

    /// Call this before each call of the thread. Returns null if there is no timeline, or no device yet. A
    /// launch shows that a driver is loaded.
    [[nodiscard]] CallTimes* times_of(TimedThread& thread, bool is_launch);

    void thread_ends(const ThreadState& state) override;
    void finish() override;
    void append_coverage(CoverageLine& line) const override;
    [[nodiscard]] bool has_files() const override { return output_.load() != nullptr; }

  private:
    CuptiRecorder* start();

    std::string folder_;
    std::atomic<TimelineOutput*> output_{nullptr};  // never freed: CUPTI's threads may be inside
    CreatedOnce<CuptiRecorder> recorder_;
};

/// Gives the session this part if the options request a timeline.
void start_timeline(Session& session);

}  // namespace aoti_dbg
