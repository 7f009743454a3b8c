#include "shim/save/kept_runs.hpp"

#include <algorithm>
#include <utility>

namespace aoti_dbg {
namespace {

// Calls outside of any run. These never end and are never older than a run.
constexpr std::uint32_t kNoRun = ~0U;

std::string folder_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

}  // namespace

const char* word_of(WhyEvicted why) {
    switch (why) {
        case WhyEvicted::older:
            return "older than the last runs";
        case WhyEvicted::no_finding:
            return "no finding";
        case WhyEvicted::no_room:
            return "no room";
        case WhyEvicted::no_fault:
            return "no fault";
    }
    return "no room";
}

bool KeptRuns::begin_file(std::uint32_t run) {
    if (!any_may_go() || run == kNoRun) return true;
    if (is_going(run)) return false;
    Run& its = runs_[run];
    ++its.under_way;
    // With findings only, the end of the run decides.
    if (!only_findings_) its.stays = true;
    return true;
}

void KeptRuns::note_folder(std::uint32_t run, const std::string& folder) {
    const auto found = runs_.find(run);
    if (found != runs_.end() && !folder.empty()) found->second.folders.insert(folder);
}

void KeptRuns::end_file(std::uint32_t run, KeptFile file, std::uint64_t index_bytes) {
    const auto found = runs_.find(run);
    if (found == runs_.end()) return;
    Run& its = found->second;
    --its.under_way;
    if (!file.path.empty()) its.files.push_back(std::move(file));
    its.index_bytes += index_bytes;
    settle_run(found);
}

void KeptRuns::end_other_file(std::uint32_t run) {
    const auto found = runs_.find(run);
    if (found != runs_.end()) found->second.has_others = true;
    end_file(run, {});
}

void KeptRuns::note_incomplete(std::uint32_t run) {
    const auto found = runs_.find(run);
    if (found != runs_.end()) found->second.is_cut = for_fault_;
}

void KeptRuns::end_run(std::uint32_t run, bool had_finding) {
    gone_.erase(run);
    const auto found = runs_.find(run);
    if (found == runs_.end()) return;
    Run& its = found->second;
    its.has_ended = true;
    if (its.goes) return;
    if (only_findings_ && had_finding) its.stays = true;
    if (its.stays) return settle_run(found);
    mark_for_removal(run, its, WhyEvicted::no_finding);
}

/// Acts once the run has ended and its last file is finished.
void KeptRuns::settle_run(Runs::iterator run) {
    Run& its = run->second;
    if (its.under_way != 0) return;
    if (its.goes) {
        ready_.push_back(run->first);
    } else if (its.has_ended && its.stays) {
        note_empty_folders(its);
        // A run without files must not replace one with files.
        if (its.files.empty()) {
            // Without tensors, its other files are of no use.
            if (its.has_others && last_ != 0) return mark_for_removal(run->first, its, WhyEvicted::no_room);
            runs_.erase(run);
        } else {
            release_older();
        }
    }
}

/// Removes runs older than the newest `last_` consecutive whole runs. A run that has ended but is not whole
/// breaks the sequence. A run that still executes on another thread does not.
void KeptRuns::release_older() {
    if (last_ == 0) return;
    std::uint32_t in_a_row = 0;
    auto newest = runs_.rbegin();
    for (; newest != runs_.rend() && in_a_row < last_; ++newest) {
        const Run& run = newest->second;
        if (!run.has_ended || !run.stays || run.goes || run.is_cut) continue;
        in_a_row = run.under_way == 0 ? in_a_row + 1 : 0;
    }
    if (in_a_row < last_) return;
    for (; newest != runs_.rend(); ++newest) {
        if (newest->second.stays && !newest->second.goes)
            mark_for_removal(newest->first, newest->second, WhyEvicted::older);
    }
}

void KeptRuns::mark_for_removal(std::uint32_t number, Run& run, WhyEvicted why) {
    run.goes = true;
    run.why = why;
    if (run.under_way == 0) ready_.push_back(number);
}

void KeptRuns::note_empty_folders(Run& run) {
    for (const KeptFile& file : run.files)
        run.folders.erase(folder_of(file.path));
    for (const std::string& folder : run.folders)
        empty_folders_.push_back(folder);
    run.folders.clear();
}

std::optional<WhyEvicted> KeptRuns::why_gone(std::uint32_t run) const {
    if (const auto found = runs_.find(run); found != runs_.end())
        return found->second.goes ? std::optional(found->second.why) : std::nullopt;
    const auto gone = gone_.find(run);
    return gone == gone_.end() ? std::nullopt : std::optional(gone->second);
}

bool KeptRuns::waits_for_files(std::uint32_t except) const {
    return std::any_of(runs_.begin(), runs_.end(), [except](const auto& run) {
        return run.first != except && run.second.goes && run.second.under_way != 0;
    });
}

std::size_t KeptRuns::files_that_stay() const {
    std::size_t count = 0;
    for (const auto& [number, run] : runs_) {
        if (run.stays && !run.goes) count += run.files.size();
    }
    return count;
}

bool KeptRuns::release_oldest(std::uint32_t newer) {
    // With findings only, earlier findings are not removed for later ones.
    // No run is removed for tensors outside of runs, which could displace all of them.
    if (last_ == 0 || newer == kNoRun) return false;
    const auto oldest = std::find_if(runs_.begin(), runs_.end(),
                                     [](const auto& run) { return run.second.stays && !run.second.goes; });
    if (oldest == runs_.end() || oldest->first >= newer) return false;
    mark_for_removal(oldest->first, oldest->second, WhyEvicted::no_room);
    return true;
}

void KeptRuns::remove_all() {
    for (auto& [number, run] : runs_)
        if (!run.goes) mark_for_removal(number, run, WhyEvicted::no_fault);
}

std::optional<EvictedRun> KeptRuns::take_evicted() {
    if (ready_.empty()) return std::nullopt;
    const std::uint32_t number = ready_.front();
    ready_.pop_front();
    const auto found = runs_.find(number);
    Run& run = found->second;
    EvictedRun evicted{number, run.why, std::move(run.files), std::move(run.folders), run.index_bytes};
    // Until the run ends, more of its files may come. If an entry is forgotten, the next whole run removes
    // those files.
    if (!run.has_ended) gone_.emplace(number, run.why);
    if (gone_.size() > kMostGone) gone_.erase(gone_.begin());
    runs_.erase(found);
    return evicted;
}

std::vector<std::string> KeptRuns::take_empty_folders() {
    return std::exchange(empty_folders_, {});
}

}  // namespace aoti_dbg
