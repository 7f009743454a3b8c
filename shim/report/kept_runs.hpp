// Which runs' tensors stay on disk, where not all do: AOTI_DBG_KEEP=last:N, AOTI_DBG_SAVE_ON=finding. Knows
// the files of each run that may have to go; which of them go is worked out here, removing them is not. A run
// goes whole, and not before the last of its files is finished. Pure. Not thread-safe.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace aoti_dbg {

enum class WhyEvicted : std::uint8_t { older, no_finding, no_room };

/// "older than the last runs", for the index.
const char* word_of(WhyEvicted why);

struct EvictedRun {
    std::uint32_t run = 0;
    WhyEvicted why = WhyEvicted::older;
    std::vector<std::string> files;  // relative to the folder of saved tensors
};

class KeptRuns {
  public:
    /// `last` runs are kept, 0: all; with `only_findings` those alone that had one.
    KeptRuns(std::uint32_t last, bool only_findings) : last_(last), only_findings_(only_findings) {}

    /// Whether any run may go. If not, nothing is kept account of.
    [[nodiscard]] bool any_may_go() const { return last_ != 0 || only_findings_; }

    /// A file of this run is on its way; false where the run goes: then it is left out.
    bool begin_file(std::uint32_t run);
    /// What begin_file() took on: it stands by that name, or, if `path` is empty, not.
    void end_file(std::uint32_t run, const std::string& path);
    void end_run(std::uint32_t run, bool had_finding);

    /// Whether files of this run are to be finished.
    [[nodiscard]] bool is_going(std::uint32_t run) const;
    /// Makes room: the oldest run but `except` goes. False where there is none.
    bool let_oldest_go(std::uint32_t except);
    /// A run whose files are to be removed now.
    std::optional<EvictedRun> take_evicted();
    /// Whether take_evicted() has any.
    [[nodiscard]] bool has_evicted() const { return !ready_.empty(); }

  private:
    struct Run {
        std::vector<std::string> files;
        std::uint32_t under_way = 0;
        bool is_kept = false;  // it counts among the last
        bool has_ended = false;
        bool goes = false;
        WhyEvicted why = WhyEvicted::older;
    };
    void keep(std::uint32_t number, Run& run);
    void let_go(std::uint32_t number, Run& run, WhyEvicted why);
    [[nodiscard]] bool is_ready(std::uint32_t run) const;

    std::uint32_t last_;
    bool only_findings_;
    std::map<std::uint32_t, Run> runs_;
    std::deque<std::uint32_t> kept_;    // oldest first
    std::vector<std::uint32_t> ready_;  // runs that go, with nothing under way
};

}  // namespace aoti_dbg
