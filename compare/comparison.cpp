#include "compare/comparison.hpp"

#include <map>
#include <utility>

namespace aoti_dbg::compare {
namespace {

void add_beginning(const RecordedRun& first, const RecordedRun& second, const Aligned& pair,
                   const CallDivergence& found, const Beginning& counts, Comparison& to) {
    ++to.diverge;
    if (to.beginnings.size() == kMostListed) return;
    Beginning& added = to.beginnings.emplace_back(counts);
    const RecordedCall& call = first.calls[pair.first];
    added.run = first.run;
    added.other_run = second.run;
    added.call = call.call;
    added.other_call = second.calls[pair.second].call;
    added.model = first.model;
    added.model_name = first.model_name;
    added.site = *call.site;
    added.origin = found.origin;
    added.inputs = found.inputs;
    added.last_equal = found.last_equal;
    added.side = found.origin == Origin::call ? EventSide::after : EventSide::before;
    added.has_tensor = found.tensor.has_value();
    if (!found.tensor) return;
    added.first = *found.tensor->first;
    added.second = *found.tensor->second;
    added.grade = found.tensor->compared.grade;
}

void add_without_partner(const RecordedCall& call, std::uint64_t& count, std::vector<std::string>& names) {
    ++count;
    if (names.size() < kMostListed) names.push_back(call.site->kernel);
}

void add_call(const CallDivergence& found, Beginning& so_far, Comparison& to) {
    ++to.calls;
    const Agreement agreement = weaker(found.inputs, found.outputs);
    if (found.verdict == CallVerdict::follows) ++to.follow;
    if (found.verdict == CallVerdict::absorbs) ++to.absorb;
    if (found.verdict == CallVerdict::unknown) ++to.unknown;
    if (found.verdict != CallVerdict::equal) return;
    if (agreement == Agreement::unknown) ++to.unknown;
    if (agreement == Agreement::equal) {
        ++to.equal;
        ++so_far.equal_before;
    }
    if (agreement == Agreement::not_seen) {
        ++to.not_seen;
        ++so_far.seen_before;
    }
}

void add_inputs(const RecordedRun& run, const RunDivergence& found, Comparison& to) {
    to.runs_with_other_inputs += found.inputs.empty() ? 0 : 1;
    to.runs_with_other_outputs += found.outputs.empty() ? 0 : 1;
    for (const TensorPair& pair : found.inputs) {
        if (to.inputs.size() == kMostListed || pair.second == nullptr) continue;
        to.inputs.push_back({run.run, *pair.first, *pair.second, pair.compared.grade});
    }
}

/// The model of a run, and the run's number in it. With threads, the numbers of all runs differ from
/// recording to recording.
using RunKey = std::pair<std::uint32_t, std::uint32_t>;

RunKey key_of(const RecordedRun& run) {
    return {run.model, run.number_in_model};
}

/// Runs of one recording that wait for their partners. Threads end their runs in any order.
using Waiting = std::map<RunKey, RecordedRun>;

constexpr std::size_t kMostWaiting = 256;

/// Drops the oldest run.
void bound(Waiting& waiting, std::uint64_t& without_partner) {
    if (waiting.size() <= kMostWaiting) return;
    ++without_partner;
    waiting.erase(waiting.begin());
}

}  // namespace

void add_runs(const RecordedRun& first, const RecordedRun& second, Comparison& to) {
    const RunDivergence found = diverge(first, second);
    ++to.runs;
    add_inputs(first, found, to);
    Beginning so_far;
    for (std::size_t i = 0; i < found.calls.size(); ++i) {
        const Aligned& pair = found.calls[i];
        if (pair.second == kNoPartner) {
            add_without_partner(first.calls[pair.first], to.only_first_calls, to.only_first);
        } else if (pair.first == kNoPartner) {
            add_without_partner(second.calls[pair.second], to.only_second_calls, to.only_second);
        } else {
            add_call(found.verdicts[i], so_far, to);
            if (found.verdicts[i].verdict == CallVerdict::diverges)
                add_beginning(first, second, pair, found.verdicts[i], so_far, to);
        }
    }
}

Comparison compare_recordings(RunReader& first, RunReader& second) {
    Comparison result;
    Waiting ours;
    Waiting theirs;
    bool has_ours = true;
    bool has_theirs = true;
    while (has_ours || has_theirs) {
        if (has_ours) {
            std::optional<RecordedRun> run = first.next();
            has_ours = run.has_value();
            if (run) ours.insert_or_assign(key_of(*run), std::move(*run));
        }
        if (has_theirs) {
            std::optional<RecordedRun> run = second.next();
            has_theirs = run.has_value();
            if (run) theirs.insert_or_assign(key_of(*run), std::move(*run));
        }
        for (auto run = ours.begin(); run != ours.end();) {
            const auto partner = theirs.find(run->first);
            if (partner == theirs.end()) {
                ++run;
                continue;
            }
            add_runs(run->second, partner->second, result);
            theirs.erase(partner);
            run = ours.erase(run);
        }
        bound(ours, result.only_first_runs);
        bound(theirs, result.only_second_runs);
    }
    result.only_first_runs += ours.size();
    result.only_second_runs += theirs.size();
    return result;
}

}  // namespace aoti_dbg::compare
