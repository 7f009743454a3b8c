// Passes measured calls to events.jsonl, to the log and to the search for findings. It takes one call at a
// time.
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

/// The header of this process for events.jsonl and for the index of saved tensors.
HeaderFacts header_facts();

class MeasuredOutput : public MeasuredSink {
  public:
    /// `folder` must exist, or is empty if no events go to disk. `log` may be null and must outlive this
    /// object.
    MeasuredOutput(const Options& options, const std::string& folder, LineLog* log);

    void take(const MeasuredCall& call, bool printed, const Check& check) override;
    void take(Finding finding) override;
    void flush() override { output_.flush(); }

    /// Returns whether this run had a finding that counts. Call it after the run's calls are written.
    bool takes_found_in(std::uint32_t run);

    /// Ends the event file with the coverage. Nothing may be passed to this object afterwards.
    void close(std::span<const NamedCount> coverage);

    [[nodiscard]] const FindingCounts& findings() const { return findings_.counts(); }
    /// Returns the number of calls that appear in the log. Any thread may call it.
    [[nodiscard]] std::uint64_t printed() const { return output_.printed(); }
    /// Returns the number of events that events.jsonl lacks. Any thread may call it.
    [[nodiscard]] std::uint64_t lost_events() const { return events_ ? events_->lost() : 0; }
    /// Returns null if there is no event file.
    [[nodiscard]] const char* events_path() const { return events_ ? events_->path() : nullptr; }

  private:
    void introduce(std::uint32_t model);
    void report_fresh();
    void report(const Finding& finding);
    void act_on_finding(std::optional<std::uint32_t> run);

    OnFinding on_finding_;
    bool remembers_runs_;  // those with a finding
    std::unique_ptr<EventLog> events_;
    EventOutput output_;
    Findings findings_;
    std::set<std::uint32_t> introduced_;  // models
    std::vector<Finding> fresh_;
    std::string json_;
    std::string text_;
    std::mutex found_mutex_;
    std::set<std::uint32_t> found_in_;  // runs that the caller has not asked about yet
};

}  // namespace aoti_dbg
