#include "shim/report/kept_runs.hpp"

#include <algorithm>
#include <utility>

namespace aoti_dbg {
namespace {

// What lies in no run has no end, and no older one.
constexpr std::uint32_t kNoRun = ~0U;

}  // namespace

const char* word_of(WhyEvicted why) {
    switch (why) {
        case WhyEvicted::older:
            return "older than the last runs";
        case WhyEvicted::no_finding:
            return "no finding";
        case WhyEvicted::no_room:
            return "no room";
    }
    return "no room";
}

bool KeptRuns::begin_file(std::uint32_t run) {
    if (!any_may_go() || run == kNoRun) return true;
    Run& its = runs_[run];
    if (its.goes) return false;
    ++its.under_way;
    // With findings alone it is not known yet whether it counts.
    if (!only_findings_ && !its.is_kept) keep(run, its);
    return true;
}

void KeptRuns::end_file(std::uint32_t run, const std::string& path) {
    const auto found = runs_.find(run);
    if (found == runs_.end()) return;
    Run& its = found->second;
    --its.under_way;
    if (!path.empty()) its.files.push_back(path);
    if (its.goes && its.under_way == 0) ready_.push_back(run);
}

void KeptRuns::end_run(std::uint32_t run, bool had_finding) {
    const auto found = runs_.find(run);
    if (found == runs_.end()) return;
    Run& its = found->second;
    its.has_ended = true;
    if (its.goes) {
        // Removed before its end; kept account of since, so that no more of it is saved.
        if (its.files.empty() && its.under_way == 0 && !is_ready(run)) runs_.erase(found);
    } else if (only_findings_ && !its.is_kept) {
        if (had_finding) {
            keep(run, its);
        } else {
            let_go(run, its, WhyEvicted::no_finding);
        }
    }
}

void KeptRuns::keep(std::uint32_t number, Run& run) {
    run.is_kept = true;
    kept_.push_back(number);
    while (last_ != 0 && kept_.size() > last_) {
        const std::uint32_t oldest = kept_.front();
        kept_.pop_front();
        let_go(oldest, runs_[oldest], WhyEvicted::older);
    }
}

void KeptRuns::let_go(std::uint32_t number, Run& run, WhyEvicted why) {
    run.goes = true;
    run.why = why;
    if (run.under_way == 0) ready_.push_back(number);
}

bool KeptRuns::is_ready(std::uint32_t run) const {
    return std::find(ready_.begin(), ready_.end(), run) != ready_.end();
}

bool KeptRuns::is_going(std::uint32_t run) const {
    const auto found = runs_.find(run);
    return found != runs_.end() && found->second.goes;
}

bool KeptRuns::let_oldest_go(std::uint32_t except) {
    // Of findings alone all may be kept that fit: the first of them are not given up for later ones.
    if (last_ == 0) return false;
    const auto oldest =
        std::find_if(kept_.begin(), kept_.end(), [except](std::uint32_t run) { return run != except; });
    if (oldest == kept_.end()) return false;
    const std::uint32_t run = *oldest;
    kept_.erase(oldest);
    let_go(run, runs_[run], WhyEvicted::no_room);
    return true;
}

std::optional<EvictedRun> KeptRuns::take_evicted() {
    if (ready_.empty()) return std::nullopt;
    const std::uint32_t number = ready_.back();
    ready_.pop_back();
    Run& run = runs_[number];
    EvictedRun evicted{number, run.why, std::move(run.files)};
    run.files.clear();
    if (run.has_ended) runs_.erase(number);
    return evicted;
}

}  // namespace aoti_dbg
