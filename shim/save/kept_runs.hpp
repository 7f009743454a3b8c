// Decides which runs' tensors stay on disk: AOTI_DBG_KEEP=last:N, AOTI_DBG_SAVE_ON=finding. Tracks the files
// of each run that may be removed. The caller removes them. A run is removed whole, after its last file is
// finished. A newer run replaces it only once that run is whole on disk. Touches no file. Not thread-safe.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace aoti_dbg {

enum class WhyEvicted : std::uint8_t { older, no_finding, no_room, no_fault };
inline constexpr std::array<std::string_view, 4> kWhyEvictedKeys = {"older", "no_finding", "no_room",
                                                                    "no_fault"};

/// Returns a phrase for the index, such as "older than the last runs".
const char* word_of(WhyEvicted why);

struct KeptFile {
    std::string path;           // relative to the folder of saved tensors
    std::uint64_t content = 0;  // equal for all names of one file on disk
    bool operator==(const KeptFile&) const = default;
};

struct EvictedRun {
    std::uint32_t run = 0;
    WhyEvicted why = WhyEvicted::older;
    std::vector<KeptFile> files;
    std::set<std::string> folders;  // created for this run, with or without files
    std::uint64_t index_bytes = 0;  // size of the lines that list `files`
};

class KeptRuns {
  public:
    /// The most runs to remember that were removed before they ended.
    static constexpr std::size_t kMostGone = 4096;

    /// Keeps the last `last` whole runs, or all if `last` is 0. With `only_findings`, keeps only runs that
    /// had a finding. With `for_fault`, a run with missing tensors replaces no other run: an earlier run
    /// may have faulted.
    KeptRuns(std::uint32_t last, bool only_findings, bool for_fault = false)
        : last_(last), only_findings_(only_findings), for_fault_(for_fault) {}

    /// Returns whether any run may be removed. If not, nothing is tracked.
    [[nodiscard]] bool any_may_go() const { return last_ != 0 || only_findings_; }

    /// Announces a file of this run. Returns false if the run is being removed. The caller then leaves the
    /// file out.
    bool begin_file(std::uint32_t run);
    /// Records that this folder was created for a file of the run.
    void note_folder(std::uint32_t run, const std::string& folder);
    /// Ends a file that begin_file() announced. An empty path means that the file does not exist.
    void end_file(std::uint32_t run, KeptFile file, std::uint64_t index_bytes = 0);
    /// Ends a file that begin_file() announced and that the caller tracks itself.
    void end_other_file(std::uint32_t run);
    /// Records that the bytes of a tensor of the run never arrived. Call it before the file ends.
    void note_incomplete(std::uint32_t run);
    void end_run(std::uint32_t run, bool had_finding);
    /// Removes all runs, because the program ended without a fault.
    void remove_all();

    /// Returns why files of this run must not be finished, or nothing if they may be.
    [[nodiscard]] std::optional<WhyEvicted> why_gone(std::uint32_t run) const;
    [[nodiscard]] bool is_going(std::uint32_t run) const { return why_gone(run).has_value(); }
    /// Returns whether a run other than `except` is being removed and waits for unfinished files.
    [[nodiscard]] bool waits_for_files(std::uint32_t except) const;
    /// Counts the files of runs that stay, as far as that is known.
    [[nodiscard]] std::size_t files_that_stay() const;

    /// Starts removing the oldest run to make room for `newer`. Returns false if no run is older than
    /// `newer`.
    bool release_oldest(std::uint32_t newer);
    /// Returns the next run whose files the caller must remove now.
    std::optional<EvictedRun> take_evicted();
    /// Returns folders of whole runs that contain no file.
    std::vector<std::string> take_empty_folders();
    /// Returns whether take_evicted() or take_empty_folders() would return anything.
    [[nodiscard]] bool has_chores() const { return !ready_.empty() || !empty_folders_.empty(); }
    [[nodiscard]] bool has_evicted() const { return !ready_.empty(); }

    /// The number of runs in memory.
    [[nodiscard]] std::size_t tracked() const { return runs_.size() + gone_.size(); }

  private:
    struct Run {
        std::vector<KeptFile> files;
        std::set<std::string> folders;
        std::uint64_t index_bytes = 0;
        std::uint32_t under_way = 0;
        bool has_others = false;  // files that the caller tracks
        bool is_cut = false;      // some tensors never arrived
        bool has_ended = false;
        bool stays = false;  // unless newer runs or lack of room remove it
        bool goes = false;
        WhyEvicted why = WhyEvicted::older;
    };
    using Runs = std::map<std::uint32_t, Run>;

    void settle_run(Runs::iterator run);
    void release_older();
    void mark_for_removal(std::uint32_t number, Run& run, WhyEvicted why);
    void note_empty_folders(Run& run);

    std::uint32_t last_;
    bool only_findings_;
    bool for_fault_;
    Runs runs_;
    std::deque<std::uint32_t> ready_;  // runs to remove, without unfinished files
    std::vector<std::string> empty_folders_;
    std::map<std::uint32_t, WhyEvicted> gone_;  // runs removed before they ended
};

}  // namespace aoti_dbg
