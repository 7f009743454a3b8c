// The lines of timeline.jsonl, from CUPTI's records or from markers. Threads of CUPTI deliver the records.
// Lines survive SIGKILL (record/mapped_text).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/status.hpp"
#include "serializer/timeline_jsonl.hpp"
#include "shim/record/mapped_text.hpp"
#include "shim/timeline/call_times.hpp"
#include "shim/timeline/cupti_api.hpp"
#include "shim/timeline/span_matcher.hpp"
#include "shim/timeline/tick_clock.hpp"

namespace aoti_dbg {

class TimelineOutput {
  public:
    /// Only tests free it, when no thread uses it.
    ~TimelineOutput();
    TimelineOutput(const TimelineOutput&) = delete;
    TimelineOutput& operator=(const TimelineOutput&) = delete;

    /// Creates timeline.jsonl in `folder`, which must exist. If the file exists, uses timeline-<pid>.jsonl or
    /// the next free name after it.
    static Result<std::unique_ptr<TimelineOutput>> create(const std::string& folder, std::string_view source);

    /// Returns the log of calls for a thread that begins to make calls. Returns null if there are too many
    /// threads. `now` is in nanoseconds since the epoch.
    CallTimes* add_thread(std::uint32_t thread, std::uint64_t now);

    /// Call this before take(), if calls were timed with ticks.
    void note_time();

    /// Takes the records of one buffer. CUPTI dropped `dropped` records before it.
    void take(const cupti::Api& api, std::uint8_t* buffer, std::size_t used, std::size_t dropped);

    /// Describes the devices, before any span.
    void describe(const std::vector<TimelineDevice>& devices);

    /// Takes spans from elsewhere than CUPTI.
    void add(const std::vector<DeviceSpan>& spans);
    /// That many kernels have no span.
    void lose(std::uint64_t count) { lost_ += count; }

    /// Ends the file. Later records are ignored.
    void close();

    [[nodiscard]] TimelineCounts counts() const { return {spans_.load(), lost_.load()}; }
    [[nodiscard]] const char* path() const { return text_.path(); }

  private:
    explicit TimelineOutput(MappedText text) : text_(std::move(text)) {}
    void take(const cupti::Record& record);
    template <typename Work>
    void take_span(const Work& work, DeviceSpan span);
    void take_call(const cupti::ApiCall& call);
    const std::string& readable_name(const char* symbol);
    void write(const std::vector<DeviceSpan>& spans);
    void append(const std::string& lines, std::uint64_t spans);

    std::mutex mutex_;
    MappedText text_;
    SpanMatcher matcher_;
    TickClock clock_;
    std::unordered_map<std::string, std::string> names_;
    bool is_closed_ = false;
    bool is_full_ = false;
    std::atomic<std::uint64_t> spans_{0};
    std::atomic<std::uint64_t> lost_{0};

    // A thread that ends leaves its log, because its work may still be delivered.
    static constexpr std::size_t kMostThreads = 256;
    std::mutex threads_mutex_;
    std::array<std::atomic<CallTimes*>, kMostThreads> threads_{};
    std::atomic<std::size_t> thread_count_{0};
};

}  // namespace aoti_dbg
