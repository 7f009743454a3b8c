#include "compare/repetition.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <string>
#include <utility>

#include "compare/agreement.hpp"

namespace aoti_dbg::compare {
namespace {

/// Extends the hash by a tensor. Returns false if the tensor has none.
bool add_hash(const RecordedTensor& tensor, std::uint64_t& all) {
    if (tensor.tensor == nullptr) {
        all = (all ^ std::hash<std::string>()(tensor.scalar)) * 0x9e3779b97f4a7c15ULL;
        return true;
    }
    if (!tensor.is_measured || !wants(tensor.statistics.requested, Requested::hash)) return false;
    all = (all ^ tensor.statistics.hash) * 0x9e3779b97f4a7c15ULL;
    return true;
}

/// Extends the hash by the call's weights.
bool add_weights(const RecordedCall& call, std::uint64_t& all) {
    return std::ranges::all_of(call.before, [&all](const RecordedTensor& tensor) {
        return tensor.facts->original_fqn.empty() || !is_input(tensor) || add_hash(tensor, all);
    });
}

std::vector<RecordedTensor> results_of(const RecordedCall& call) {
    std::vector<RecordedTensor> results;
    std::ranges::copy_if(call.after, std::back_inserter(results), is_output);
    return results;
}

Spread spread_of(const std::vector<RecordedTensor>& first, const std::vector<RecordedTensor>& second) {
    Spread spread;
    if (first.size() != second.size()) return spread;
    for (std::size_t i = 0; i < first.size(); ++i) {
        const Compared compared = compare(first[i], second[i], {.rule = {RuleKind::derived}});
        if (compared.agreement == Agreement::different) spread = wider(spread, compared.spread);
    }
    return spread;
}

}  // namespace

void Repetitions::add(const RecordedRun& run) {
    std::uint64_t inputs = run.inputs.size();
    if (!run.has_inputs) return;
    for (const RecordedTensor& input : run.inputs)
        if (!add_hash(input, inputs)) return;
    for (const RecordedCall& call : run.calls) {
        if (!add_weights(call, inputs)) return;
        if (call.has_after) add(run.model, call, inputs);
    }
}

void Repetitions::add(std::uint32_t model, const RecordedCall& call, std::uint64_t inputs) {
    std::vector<RecordedTensor> results = results_of(call);
    Place& place = places_[{model, call.site}];
    const auto seen = std::ranges::find(place.last, inputs, &Seen::inputs);
    if (seen == place.last.end()) {
        place.last[place.next++ % place.last.size()] = {inputs, std::move(results)};
        return;
    }
    place.spread = wider(place.spread, spread_of(seen->results, results));
    seen->results = std::move(results);
}

Spread Repetitions::spread_at(std::uint32_t model, const SiteFacts& site) const {
    const auto place = places_.find({model, &site});
    return place == places_.end() ? Spread{} : place->second.spread;
}

}  // namespace aoti_dbg::compare
