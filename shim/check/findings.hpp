// What is wrong in a stream of measured calls, and whose fault it is: the call whose output has NaN although
// nothing that it read had one. What comes of it further on (followers) is counted. Knows nothing of where
// findings go.
//
// NaN that were in a buffer before the call that writes it may be left over in parts that it leaves alone:
// such a call is suspected only, and found out when somebody reads them. So is one of which nobody knows what
// it writes, if it has made NaN there before.
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
#include "serializer/finding.hpp"
#include "shim/check/finding_pattern.hpp"

namespace aoti_dbg {

/// Read by other threads at any time.
struct FindingCounts {
    std::atomic<std::uint64_t> findings{0};     // different ones: those that were handed out
    std::atomic<std::uint64_t> again{0};        // the same another time
    std::atomic<std::uint64_t> suppressed{0};   // each time
    std::atomic<std::uint64_t> followers{0};    // calls that hand on what they read
    std::atomic<std::uint64_t> unexplained{0};  // of these, in runs in which nothing was found before
};

/// "2 findings (1 suppressed, 30 followers)"; empty where there was nothing at all. Made without allocating.
class FindingSummary {
  public:
    explicit FindingSummary(const FindingCounts& counts);
    [[nodiscard]] const char* text() const { return text_; }

  private:
    char text_[192] = "";
    std::size_t used_ = 0;
};

/// Not for several threads at once.
class Findings {
  public:
    explicit Findings(Suppressions suppress) : suppress_(std::move(suppress)) {}

    /// Takes both sides of every call that is looked at, the before side first, calls of several threads
    /// mixed, and what runs are given and give. What facts point to must stand until the after side was
    /// taken. Appends what is new to `fresh`. Returns whether something was found that is not suppressed, be
    /// it new or known from before.
    bool take(const MeasuredCall& call, Check check, std::vector<Finding>& fresh);

    /// The same, of a finding that somebody else has made: about arguments.
    bool take(Finding finding, std::vector<Finding>& fresh) { return report(std::move(finding), fresh); }

    [[nodiscard]] const FindingCounts& counts() const { return counts_; }

  private:
    enum class Anomaly : std::uint8_t { nan, inf };
    using Arguments = std::vector<MeasuredArgument>;
    /// A call that wrote a buffer which had it already.
    struct Suspect {
        std::uint64_t begin = 0;
        std::uint64_t end = 0;
        Anomaly anomaly = Anomaly::nan;
        std::uint64_t unexplained_before = 0;  // as Run has them
        Finding finding;
    };
    struct Run {
        bool is_explained = false;      // something was found in it
        std::uint64_t unexplained = 0;  // followers that are counted so
        std::vector<Suspect> suspects;
        std::vector<std::uint64_t> written_weights;  // addresses: what is wrong in them now is of this run
    };
    /// One call and one anomaly, what goes in held against what comes out.
    struct Judgement;
    /// What tells one origin from another: kind, model, call site, number of the call where that is not
    /// known, name of the kernel, the input or the weight.
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
    std::map<std::uint64_t, Arguments> open_;  // by sequence, so that the oldest is the first
    std::map<std::uint32_t, Run> runs_;
    std::set<Key> known_;
    std::set<std::pair<Key, std::string>> unsure_outputs_;  // of origins, by label: of unknown role
    bool has_before_ = true;                                // of the call that is being judged
    std::vector<Suspect> suspected_now_;                    // by the call that is being judged
    bool follows_now_ = false;                              // it hands on what it read
    std::vector<Arguments> spare_;                          // of calls that are over: their memory
};

}  // namespace aoti_dbg
