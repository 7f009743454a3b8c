// The output of level 2: JSON events for the event log, and the chosen format for the log. Calls are buffered
// and written a few tens of kilobytes at a time, everything else at once. Not thread-safe: the threads that
// drain measurements call it one at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "config/output_format.hpp"
#include "serializer/event_compact.hpp"
#include "serializer/event_jsonl.hpp"
#include "serializer/event_text.hpp"
#include "serializer/measured_event.hpp"
#include "shim/record/first_events.hpp"

namespace aoti_dbg {

class EventLog;
class LineLog;

/// Returns the header of this process for events.jsonl and for the index of saved tensors.
HeaderFacts header_facts();

class EventOutput {
  public:
    /// Either may be null, and both must outlive this object. `colour` applies to compact lines.
    EventOutput(EventLog* events, LineLog* log, OutputFormat format, bool colour);

    /// Call this first, and once.
    void header(const HeaderFacts& header);
    void model(const ModelFacts& model);
    void call(const MeasuredCall& call);
    void coverage(std::span<const NamedCount> counts);
    /// Writes an event that another component rendered (a finding). `json_line` goes to the event log and to
    /// a JSON log, `text` to any other log. Both are whole lines and may be empty.
    void other(std::string_view json_line, std::string_view text);

    /// Writes the buffered lines. Call it when no more events are pending.
    void flush();

    /// Returns the number of calls with at least one line in the log. Call it from any thread.
    [[nodiscard]] std::uint64_t printed() const { return printed_.load(std::memory_order_relaxed); }

  private:
    [[nodiscard]] bool has_json() const { return events_ != nullptr || is_json_log(); }
    [[nodiscard]] bool is_json_log() const { return log_ != nullptr && format_ == OutputFormat::jsonl; }
    [[nodiscard]] bool has_text() const { return log_ != nullptr && format_ != OutputFormat::jsonl; }

    EventLog* events_;
    LineLog* log_;
    OutputFormat format_;
    std::shared_ptr<StatisticsTexts> statistics_ = std::make_shared<StatisticsTexts>();
    JsonlRenderer jsonl_{statistics_};
    TextRenderer text_{statistics_};
    CompactRenderer compact_;
    std::string json_lines_;  // not written yet
    std::string log_lines_;
    FirstEvents first_events_;
    std::uint64_t gathered_calls_ =
        0;  // calls whose first event is in log_lines_, or in json_lines_ for a JSON log
    std::atomic<std::uint64_t> printed_{0};
};

}  // namespace aoti_dbg
