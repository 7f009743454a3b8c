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
#include "shim/timeline/marker_recorder.hpp"
#include "shim/timeline/timeline_output.hpp"

namespace aoti_dbg {

/// What the timeline keeps of a thread.
struct TimedThread {
    CallTimes* times = nullptr;   // of its calls, for CUPTI
    bool is_asked = false;        // so a thread without a log asks once
    std::uint64_t looked_ns = 0;  // when no driver was loaded
    std::uint64_t begun = 0;      // when the open launch began, for markers
};

class TimelinePart final : public SessionPart {
  public:
    explicit TimelinePart(std::string folder) : folder_(std::move(folder)) {}

    /// Call this before each call of the thread. Returns null if there is no timeline, or no device yet. A
    /// launch shows that a driver is loaded.
    [[nodiscard]] CallTimes* times_of(TimedThread& thread, bool is_launch);
    /// Returns null unless markers measure the times.
    [[nodiscard]] MarkerRecorder* markers() const { return markers_.load(std::memory_order_acquire); }

    void thread_ends(const ThreadState& state) override;
    void context_ends(CUctx_st* context) override;
    void device_ends(int device) override;
    void device_context_may_end(int device) override;
    void finish() override;
    void append_coverage(CoverageLine& line) const override;
    [[nodiscard]] bool has_files() const override { return output_.load() != nullptr; }

  private:
    CuptiRecorder* start();
    CuptiRecorder* start_cupti(const cupti::Api& api, Obstacle& obstacle);
    void start_markers(const Obstacle& obstacle);
    TimelineOutput* create_output(const char* source) const;

    std::string folder_;
    std::atomic<TimelineOutput*> output_{nullptr};  // never freed: CUPTI's threads may be inside
    std::atomic<MarkerRecorder*> markers_{nullptr};
    CreatedOnce<CuptiRecorder> recorder_;  // null if markers take its place
};

/// Gives the session this part if the options request a timeline.
void start_timeline(Session& session);

}  // namespace aoti_dbg
