#include "compare/comparison.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace aoti_dbg::compare {
namespace {

std::optional<ElementDifference> elements_of(const RecordedTensor& first, const RecordedTensor& second) {
    const bool are_known = first.tensor != nullptr && second.tensor != nullptr && !first.values.empty() &&
                           first.values.size() == second.values.size() &&
                           first.tensor->dtype == second.tensor->dtype;
    if (!are_known) return std::nullopt;
    return difference_of(first.tensor->measured_dtype, first.values, second.values);
}

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
    added.elements = elements_of(added.first, added.second);
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

void add_ends(const RecordedRun& first, const RecordedRun& second, const RunDivergence& found,
              Comparison& to) {
    to.runs_with_other_inputs += found.all_inputs == Agreement::different ? 1 : 0;
    to.runs_with_other_outputs += found.all_outputs == Agreement::different ? 1 : 0;
    to.runs_with_unproven_ends += weaker(found.all_inputs, found.all_outputs) == Agreement::equal ? 0 : 1;
    to.runs_without_outputs += first.has_outputs && second.has_outputs ? 0 : 1;
    for (const TensorPair& pair : found.inputs) {
        if (to.inputs.size() == kMostListed) break;
        to.inputs.push_back({first.run, *pair.first, *pair.second, pair.compared.grade,
                             elements_of(*pair.first, *pair.second)});
    }
}

/// Runs that wait for their partners, by model and number. Threads end their runs in any order.
using Waiting = std::map<std::pair<std::uint32_t, std::uint32_t>, RecordedRun>;

constexpr std::size_t kMostWaiting = 256;

/// Adds the next run. Returns its key, or nothing if there is none.
std::optional<Waiting::key_type> take(RunReader& from, Waiting& to) {
    std::optional<RecordedRun> run = from.next();
    if (!run) return std::nullopt;
    const Waiting::key_type key{run->model, run->run};
    to.insert_or_assign(key, std::move(*run));
    return key;
}

void pair_by_number(const Waiting::key_type& key, Waiting& first, Waiting& second, Comparison& to) {
    const auto one = first.find(key);
    const auto other = second.find(key);
    if (one == first.end() || other == second.end()) return;
    add_runs(one->second, other->second, to);
    first.erase(one);
    second.erase(other);
}

/// Pairs the oldest run of each model with the oldest one of the same model, until so many wait at most.
void pair_by_order(Waiting& first, Waiting& second, std::size_t most, Comparison& to) {
    for (auto run = first.begin(); run != first.end() && (first.size() > most || second.size() > most);) {
        const auto partner = second.lower_bound({run->first.first, 0});
        if (partner == second.end() || partner->first.first != run->first.first) {
            ++run;
            continue;
        }
        add_runs(run->second, partner->second, to);
        second.erase(partner);
        run = first.erase(run);
    }
}

void drop_oldest(Waiting& waiting, std::uint64_t& without_partner) {
    for (; waiting.size() > kMostWaiting; ++without_partner)
        waiting.erase(
            std::ranges::min_element(waiting, {}, [](const auto& one) { return one.first.second; }));
}

}  // namespace

void add_runs(const RecordedRun& first, const RecordedRun& second, Comparison& to) {
    const RunDivergence found = diverge(first, second);
    ++to.runs;
    add_ends(first, second, found, to);
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
    bool has_more = true;
    while (has_more) {
        has_more = false;
        for (const auto& [reader, waiting] : {std::pair(&first, &ours), std::pair(&second, &theirs)}) {
            const std::optional<Waiting::key_type> key = take(*reader, *waiting);
            if (key) pair_by_number(*key, ours, theirs, result);
            has_more = has_more || key.has_value();
        }
        pair_by_order(ours, theirs, kMostWaiting, result);
        drop_oldest(ours, result.only_first_runs);
        drop_oldest(theirs, result.only_second_runs);
    }
    pair_by_order(ours, theirs, 0, result);
    result.only_first_runs += ours.size();
    result.only_second_runs += theirs.size();
    return result;
}

}  // namespace aoti_dbg::compare
