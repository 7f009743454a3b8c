// Decides which runs' tensors stay on disk: AOTI_DBG_KEEP=last:N, AOTI_DBG_SAVE_ON=finding. Tracks the files
// of each run that may be removed; the caller removes them. A run is removed whole, after its last file is
// finished, and a newer run replaces it only once that one is whole on disk. Pure. Not thread-safe.
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

enum class WhyEvicted : std::uint8_t { older, no_finding, no_room };
inline constexpr std::array<std::string_view, 3> kWhyEvictedKeys = {"older", "no_finding", "no_room"};

/// "older than the last runs", for the index.
const char* word_of(WhyEvicted why);

struct KeptFile {
    std::string path;           // relative to the folder of saved tensors
    std::uint64_t content = 0;  // files with the same number are names of one file on disk
    bool operator==(const KeptFile&) const = default;
};

struct EvictedRun {
    std::uint32_t run = 0;
    WhyEvicted why = WhyEvicted::older;
    std::vector<KeptFile> files;
    std::set<std::string> folders;  // that were made for it, whether or not a file is in them
    std::uint64_t index_bytes = 0;  // of the lines that list `files`
};

class KeptRuns {
  public:
    /// Runs that were removed before they ended and whose number is remembered.
    static constexpr std::size_t kMostGone = 4096;

    /// The last `last` whole runs are kept, 0: all; with `only_findings` only those that had one.
    KeptRuns(std::uint32_t last, bool only_findings) : last_(last), only_findings_(only_findings) {}

    /// Whether any run may be removed. If not, nothing is tracked.
    [[nodiscard]] bool any_may_go() const { return last_ != 0 || only_findings_; }

    /// A file of this run is on its way. False if the run is being removed: then the file is left out.
    bool begin_file(std::uint32_t run);
    /// This folder was made for a file of the run.
    void note_folder(std::uint32_t run, const std::string& folder);
    /// Ends what begin_file() began: the file stands by that name, or, if the path is empty, does not.
    void end_file(std::uint32_t run, KeptFile file, std::uint64_t index_bytes = 0);
    void end_run(std::uint32_t run, bool had_finding);

    /// Why files of this run are not to be finished; nothing if they are.
    [[nodiscard]] std::optional<WhyEvicted> why_gone(std::uint32_t run) const;
    [[nodiscard]] bool is_going(std::uint32_t run) const { return why_gone(run).has_value(); }
    /// Whether a run other than `except` is going and waits for files that are under way.
    [[nodiscard]] bool waits_for_files(std::uint32_t except) const;
    /// Files of runs that stay, as far as is known.
    [[nodiscard]] std::size_t files_that_stay() const;

    /// Makes room for `newer`: the oldest run goes. False if none is older than `newer`.
    bool let_oldest_go(std::uint32_t newer);
    /// A run whose files are to be removed now.
    std::optional<EvictedRun> take_evicted();
    /// Folders of whole runs that no file is in.
    std::vector<std::string> take_empty_folders();
    /// Whether take_evicted() or take_empty_folders() has anything.
    [[nodiscard]] bool has_chores() const { return !ready_.empty() || !empty_folders_.empty(); }
    [[nodiscard]] bool has_evicted() const { return !ready_.empty(); }

    /// Runs in memory.
    [[nodiscard]] std::size_t tracked() const { return runs_.size() + gone_.size(); }

  private:
    struct Run {
        std::vector<KeptFile> files;
        std::set<std::string> folders;
        std::uint64_t index_bytes = 0;
        std::uint32_t under_way = 0;
        bool has_ended = false;
        bool stays = false;  // unless newer runs or room are against it
        bool goes = false;
        WhyEvicted why = WhyEvicted::older;
    };
    using Runs = std::map<std::uint32_t, Run>;

    void close_unwound_calls(Runs::iterator run);
    void let_older_go();
    void freed(std::uint32_t number, Run& run, WhyEvicted why);
    void note_empty_folders(Run& run);

    std::uint32_t last_;
    bool only_findings_;
    Runs runs_;
    std::deque<std::uint32_t> ready_;  // runs that go, with nothing under way
    std::vector<std::string> empty_folders_;
    std::map<std::uint32_t, WhyEvicted> gone_;  // removed before they ended
};

}  // namespace aoti_dbg
