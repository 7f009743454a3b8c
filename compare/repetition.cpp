#include "compare/repetition.hpp"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "compare/agreement.hpp"

namespace aoti_dbg::compare {
namespace {

/// Returns nothing if an input has no hash.
std::optional<std::uint64_t> hash_of_inputs(const RecordedCall& call) {
    std::uint64_t all = call.before.size();
    for (const RecordedTensor& input : call.before) {
        if (!is_input(input)) continue;
        const bool has_hash = input.tensor == nullptr ||
                              (input.is_measured && wants(input.statistics.requested, Requested::hash));
        if (!has_hash) return std::nullopt;
        const std::uint64_t own =
            input.tensor == nullptr ? std::hash<std::string>()(input.scalar) : input.statistics.hash;
        all = (all ^ own) * 0x9e3779b97f4a7c15ULL;
    }
    return all;
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
    for (const RecordedCall& call : run.calls) {
        const std::optional<std::uint64_t> inputs = hash_of_inputs(call);
        if (!call.has_before || !call.has_after || !inputs) continue;
        std::vector<RecordedTensor> results = results_of(call);
        const auto [entry, is_new] = places_.try_emplace(call.site);
        Place& place = entry->second;
        if (!is_new && place.inputs == *inputs)
            place.spread = wider(place.spread, spread_of(place.results, results));
        place.inputs = *inputs;
        place.results = std::move(results);
    }
}

Spread Repetitions::spread_at(const SiteFacts& site) const {
    const auto place = places_.find(&site);
    return place == places_.end() ? Spread{} : place->second.spread;
}

}  // namespace aoti_dbg::compare
