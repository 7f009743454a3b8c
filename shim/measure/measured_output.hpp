// Where measured calls end: in events.jsonl, in the log that the person reads, and before the judge of
// findings. One call at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "config/options.hpp"
#include "config/pattern.hpp"
#include "shim/check/findings.hpp"
#include "shim/measure/measurer.hpp"
#include "shim/record/event_log.hpp"
#include "shim/record/event_output.hpp"

namespace aoti_dbg {

class LineLog;

/// Of this process, as events.jsonl and the index of saved tensors begin with.
HeaderFacts header_facts();

class MeasuredOutput : public MeasuredSink {
  public:
    /// `folder` exists, or is empty: then there are no events on disk. `log` may be null, and outlives this.
    MeasuredOutput(const Options& options, const std::string& folder, LineLog* log);

    void take(const MeasuredCall& call, bool printed, const Check& check) override;
    void take(Finding finding) override;
    void flush() override { output_.flush(); }

    /// Whether a finding that counts was made in this run; asked when the run's calls have been written.
    bool takes_found_in(std::uint32_t run);

    /// Ends the file of events with what was covered. Nothing is taken afterwards.
    void close(std::span<const NamedCount> coverage);

    [[nodiscard]] const FindingCounts& findings() const { return findings_.counts(); }
    /// Calls of which something is in the log. From any thread.
    [[nodiscard]] std::uint64_t printed() const { return output_.printed(); }
    /// Events that events.jsonl lacks. From any thread.
    [[nodiscard]] std::uint64_t lost_events() const { return events_ ? events_->lost() : 0; }
    /// Null where there is none.
    [[nodiscard]] const char* events_path() const { return events_ ? events_->path() : nullptr; }

  private:
    void introduce(std::uint32_t model);
    void report_fresh();
    void report(const Finding& finding);
    void act_on_finding(std::optional<std::uint32_t> run);

    OnFinding on_finding_;
    bool remembers_runs_;  // in which something was found
    std::unique_ptr<EventLog> events_;
    EventOutput output_;
    Findings findings_;
    std::set<std::uint32_t> introduced_;  // models
    std::vector<Finding> fresh_;
    std::string json_;
    std::string text_;
    std::mutex found_mutex_;
    std::set<std::uint32_t> found_in_;  // runs, of which the caller has not asked yet
};

}  // namespace aoti_dbg
