// Passes measured calls and findings to events.jsonl and the log, and measured calls to the search for
// findings. A session has one if it may have findings.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "config/options.hpp"
#include "config/pattern.hpp"
#include "shim/calls/run_files.hpp"
#include "shim/calls/session_part.hpp"
#include "shim/findings/findings.hpp"
#include "shim/record/event_log.hpp"
#include "shim/record/event_output.hpp"

namespace aoti_dbg {

class LineLog;

/// Any thread may call it.
class MeasuredOutput final : public SessionPart {
  public:
    /// `folder` must exist, or is empty if no events go to disk. `log` may be null and must outlive this
    /// object.
    MeasuredOutput(const Options& options, const std::string& folder, LineLog* log);

    /// Adds the command that replays its launch to each finding. Call it before the first finding.
    void name_replays(CapturedLaunches& launches) { launches_ = &launches; }

    void take(const MeasuredCall& call, bool printed, const Check& check);
    /// Takes both sides of a call, for checks of values. What the call only reads is only among the arguments
    /// before it. One thread at a time may call this.
    void take_both(const MeasuredCall& after, std::span<const MeasuredArgument> before_arguments,
                   std::span<const MeasuredArgument> after_arguments, const Check& check);
    /// Takes a finding that needs no measurement. It can overtake calls that were passed earlier.
    void take(Finding finding);
    /// Writes out what is buffered.
    void flush();

    /// Returns the first finding of this run that counts, as a sentence, once. Call it after the run's calls
    /// are written.
    std::optional<std::string> take_found_in(std::uint32_t run);

    void finish() override;
    [[nodiscard]] std::uint64_t printed() const override { return output_.printed(); }
    void append_coverage(CoverageLine& line) const override;
    void close(std::span<const NamedCount> counts) override;
    bool conclude() override { return findings_.counts().findings.load() != 0; }

  private:
    void introduce(std::uint32_t model);
    void report_fresh();
    void report(Finding& finding);
    void act_on_finding(std::optional<std::uint32_t> run);

    std::mutex mutex_;        // for what follows, but not for the counts in it
    bool is_closed_ = false;  // nothing is taken any more
    bool is_stuck_ = false;   // a thread did not release the mutex at exit
    CapturedLaunches* launches_ = nullptr;
    OnFinding on_finding_;
    bool remembers_all_;  // runs with a finding, not just the last ones
    std::unique_ptr<EventLog> events_;
    EventOutput output_;
    Findings findings_;
    std::set<std::uint32_t> introduced_;  // models
    std::vector<Finding> fresh_;
    std::vector<MeasuredArgument> both_;
    std::string json_;
    std::string text_;
    std::mutex found_mutex_;
    std::map<std::uint32_t, std::string> found_in_;  // by run that the caller has not asked about yet
};

/// Passes the finding to the output of the current session, if there is one.
void report_finding(Finding finding);

}  // namespace aoti_dbg
