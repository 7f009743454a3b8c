// Where level 2 goes: every event as JSON into the event log, and in the chosen format into the log that the
// person reads. Calls are gathered and written some tens of kilobytes at a time, everything else at once.
// Not thread-safe: whoever drains measurements calls it from one thread at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "serializer/event_compact.hpp"
#include "serializer/event_format.hpp"
#include "serializer/event_jsonl.hpp"
#include "serializer/event_text.hpp"
#include "serializer/measured_event.hpp"
#include "shim/record/first_events.hpp"

namespace aoti_dbg {

class EventLog;
class LineLog;

class EventOutput {
  public:
    /// Either may be null, and outlives this. `colour` is for compact lines.
    EventOutput(EventLog* events, LineLog* log, EventFormat format, bool colour);

    /// To be the first, once.
    void header(const HeaderFacts& header);
    void model(const ModelFacts& model);
    void call(const MeasuredCall& call);
    void coverage(std::span<const NamedCount> counts);
    /// An event that somebody else has rendered (a finding): `json_line` for the event log, and for the log
    /// where that is JSON; `text` for the log otherwise. Whole lines, either may be empty.
    void other(std::string_view json_line, std::string_view text);

    /// Writes what was gathered: when nothing more is at hand.
    void flush();

    /// Calls of which something is in the log. From any thread.
    [[nodiscard]] std::uint64_t printed() const { return printed_.load(std::memory_order_relaxed); }

  private:
    [[nodiscard]] bool has_json() const { return events_ != nullptr || is_json_log(); }
    [[nodiscard]] bool is_json_log() const { return log_ != nullptr && format_ == EventFormat::jsonl; }
    [[nodiscard]] bool has_text() const { return log_ != nullptr && format_ != EventFormat::jsonl; }

    EventLog* events_;
    LineLog* log_;
    EventFormat format_;
    JsonlRenderer jsonl_;
    TextRenderer text_;
    CompactRenderer compact_;
    std::string json_lines_;  // not written yet
    std::string log_lines_;
    FirstEvents first_events_;
    std::uint64_t gathered_calls_ = 0;  // that begin in log_lines_, or in json_lines_ for a JSON log
    std::atomic<std::uint64_t> printed_{0};
};

}  // namespace aoti_dbg
