// Finds the origin of NaN and Inf in a stream of measured calls: the call whose output has one although its
// inputs have none. Later calls that pass it on (followers) are counted. The code must not know where
// findings go.
// If a buffer had NaN before the call that writes it, the call may have left parts of it untouched. Such a
// call is only suspected, and is reported when another call reads them. A call with unknown writes that
// created NaN there before is treated alike.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "config/options.hpp"
#include "shim/findings/finding_judgement.hpp"

namespace aoti_dbg {

/// Other threads may read these at any time.
struct FindingCounts {
    std::atomic<std::uint64_t> findings{0};     // distinct findings, as returned to the caller
    std::atomic<std::uint64_t> again{0};        // repeats of a known finding
    std::atomic<std::uint64_t> suppressed{0};   // each occurrence
    std::atomic<std::uint64_t> followers{0};    // calls that pass on what they read
    std::atomic<std::uint64_t> unexplained{0};  // followers in runs without an earlier finding
};

/// Formats "2 findings (1 suppressed, 30 followers)", or an empty string if all counts are 0. It must not
/// allocate.
class FindingSummary {
  public:
    explicit FindingSummary(const FindingCounts& counts);
    [[nodiscard]] const char* text() const { return text_; }

  private:
    char text_[192] = "";
    std::size_t used_ = 0;
};

/// Only one thread at a time may use this class.
class Findings {
  public:
    explicit Findings(Suppressions suppress) : suppress_(std::move(suppress)) {}

    /// Takes the sides of inspected calls, and the inputs and outputs of runs. The before side of a call
    /// comes first, and calls of several threads may interleave. The facts must stay valid until the after
    /// side was taken. Appends new findings to `fresh`. Returns whether there was a finding, new or known,
    /// that is not suppressed.
    bool take(const MeasuredCall& call, Check check, std::vector<Finding>& fresh);

    /// Takes a finding about arguments that another part of the library built.
    bool take(Finding finding, std::vector<Finding>& fresh) {
        sentence_.clear();
        return report(std::move(finding), fresh);
    }

    /// Describes the first finding of the last take() that returned true.
    [[nodiscard]] const std::string& sentence() const { return sentence_; }

    [[nodiscard]] const FindingCounts& counts() const { return counts_; }

  private:
    using Arguments = std::vector<MeasuredArgument>;
    /// A call that wrote a buffer that already had the anomaly.
    struct Suspect {
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
        Anomaly anomaly = Anomaly::nan;
        std::uint64_t unexplained_before = 0;  // as in Run
        Finding finding;
    };
    struct Run {
        bool is_explained = false;      // the run has a finding
        std::uint64_t unexplained = 0;  // followers counted as unexplained
        std::vector<Suspect> suspects;
        std::vector<std::uint64_t>
            written_weights;  // addresses; an anomaly in these weights comes from this run
    };
    /// The identity of an origin: kind, model, call site, call number if the site is unknown, and the name of
    /// the kernel, input or weight.
    using Key = std::tuple<Finding::Kind, std::uint32_t, std::uint32_t, std::uint32_t, std::string>;

    Run& run_of(std::uint32_t number);
    void keep_before(const MeasuredCall& call);
    Arguments take_before(std::uint64_t sequence);
    bool take_inputs(const MeasuredCall& call, std::vector<Finding>& fresh);
    bool take_outputs(const MeasuredCall& call, Anomaly anomaly, std::vector<Finding>& fresh);
    bool take_after(const MeasuredCall& call, Check check, std::vector<Finding>& fresh);
    bool judge(const MeasuredCall& call, Anomaly anomaly, const Arguments& before, Run& run,
               std::vector<Finding>& fresh);
    bool report_call(const MeasuredCall& call, const Judgement& judgement, std::vector<Finding>& fresh);
    bool follow(const MeasuredCall& call, const Judgement& judgement, Run& run, std::vector<Finding>& fresh);
    bool report_weight(const MeasuredCall& call, const MeasuredArgument& weight, std::vector<Finding>& fresh);
    bool find_out(Run& run, const MeasuredArgument& argument, Anomaly anomaly, const std::string& reader,
                  std::vector<Finding>& fresh);
    bool report(Finding finding, std::vector<Finding>& fresh);
    static Finding::Kind kind_of(Anomaly anomaly);
    static Key key_of(const Finding& finding);
    static std::string_view suppressed_kind(const Finding& finding);
    void keep_unsure(const Key& key, const FindingTensor& output);
    [[nodiscard]] bool is_suppressed(const Finding& finding, const FindingTensor& tensor) const;

    Suppressions suppress_;
    FindingCounts counts_;
    std::map<std::uint64_t, Arguments> open_;  // by sequence, so the oldest is first
    std::map<std::uint32_t, Run> runs_;
    std::set<Key> known_;
    std::set<std::pair<Key, std::string>> unsure_outputs_;  // origins and labels of outputs of unknown role
    bool has_before_ = true;                                // for the current call
    std::vector<Suspect> suspected_now_;                    // by the current call
    bool follows_now_ = false;                              // the current call passes on what it read
    std::vector<Arguments> spare_;                          // memory of finished calls
    std::string sentence_;
};

}  // namespace aoti_dbg
