#include "compare/divergence.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <string_view>
#include <unordered_map>

namespace aoti_dbg::compare {
namespace {

/// Returns the weakest agreement of the inputs or outputs of two runs.
Agreement agreement_of(const PairedTensors& paired, bool is_recorded) {
    Agreement all = is_recorded && paired.is_whole ? Agreement::equal : Agreement::unknown;
    for (const TensorPair& pair : paired.pairs)
        all = weaker(all, pair.compared.agreement);
    return all;
}

/// An outer call follows if one inside of it diverges.
void blame_inner_calls(const RecordedRun& run, RunDivergence& result) {
    for (std::size_t i = 0; i < result.calls.size(); ++i) {
        CallDivergence& outer = result.verdicts[i];
        if (outer.verdict != CallVerdict::diverges || outer.origin != Origin::call) continue;
        const std::uint32_t nesting = run.calls[result.calls[i].first].nesting;
        for (std::size_t k = i + 1; k < result.calls.size(); ++k) {
            if (result.calls[k].first == kNoPartner) continue;
            if (run.calls[result.calls[k].first].nesting <= nesting) break;
            if (result.verdicts[k].verdict != CallVerdict::diverges) continue;
            outer.verdict = CallVerdict::follows;
            break;
        }
    }
}

/// Removes the number at the end: triton_poi_fused_add_3.
std::string_view base_name(std::string_view name) {
    const std::size_t last = name.find_last_not_of("0123456789");
    const bool has_number = last != std::string_view::npos && last + 1 != name.size() && name[last] == '_';
    return has_number ? name.substr(0, last) : name;
}

/// Gives equal texts equal numbers.
class Numbers {
  public:
    std::uint32_t of(const std::string& text) {
        const auto [entry, is_new] = known_.try_emplace(text, next_);
        if (is_new) ++next_;
        return entry->second;
    }
    /// Returns a number that equals no other.
    std::uint32_t unique() { return next_++; }

  private:
    std::unordered_map<std::string, std::uint32_t> known_;
    std::uint32_t next_ = 0;
};

std::vector<Keys> keys_of(const RecordedRun& run, Numbers& numbers) {
    std::vector<Keys> keys(4);
    for (const RecordedCall& call : run.calls) {
        const SiteFacts& site = *call.site;
        std::string nodes;
        for (const std::string& node : site.source_nodes)
            nodes += node + '\n';
        keys[0].push_back(
            numbers.of(site.kernel + '\n' + std::to_string(site.site) + '\n' + std::to_string(site.line)));
        keys[1].push_back(numbers.of(site.kernel));
        keys[2].push_back(numbers.of('~' + std::string(base_name(site.kernel))));
        keys[3].push_back(nodes.empty() ? numbers.unique() : numbers.of('\t' + nodes));
    }
    return keys;
}

bool is_same_place(const SiteFacts& one, const SiteFacts& other) {
    return one.site == other.site && one.line == other.line && one.kernel == other.kernel;
}

bool have_same_tensors(std::span<const RecordedTensor> first, std::span<const RecordedTensor> second) {
    return std::ranges::equal(first, second, [](const RecordedTensor& one, const RecordedTensor& other) {
        if (one.tensor == nullptr || other.tensor == nullptr) return one.tensor == other.tensor;
        return one.tensor->dtype == other.tensor->dtype && one.tensor->device == other.tensor->device;
    });
}

/// Whether both ran the same code: each call is at the same place as its partner, with tensors of the same
/// dtypes on the same devices. The same code computes the same bits from the same inputs.
bool is_same_build(const RecordedRun& first, const RecordedRun& second, const std::vector<Aligned>& calls) {
    return std::ranges::all_of(calls, [&](const Aligned& pair) {
        if (pair.first == kNoPartner || pair.second == kNoPartner) return true;
        const RecordedCall& one = first.calls[pair.first];
        const RecordedCall& other = second.calls[pair.second];
        return is_same_place(*one.site, *other.site) && have_same_tensors(one.before, other.before) &&
               have_same_tensors(one.after, other.after);
    });
}

}  // namespace

std::vector<Aligned> align_calls(const RecordedRun& first, const RecordedRun& second) {
    Numbers numbers;
    const std::vector<Keys> ours = keys_of(first, numbers);
    const std::vector<Keys> theirs = keys_of(second, numbers);
    return align(std::span(ours), std::span(theirs));
}

RunDivergence diverge(const RecordedRun& first, const RecordedRun& second, const Evidence& evidence) {
    RunDivergence result;
    result.calls = align_calls(first, second);
    Evidence used = evidence;
    if (used.rule.kind == RuleKind::automatic)
        used.rule.kind = is_same_build(first, second, result.calls) ? RuleKind::bits : RuleKind::derived;
    result.rule = used.rule.kind;
    PairedTensors inputs = pair_ends(first.inputs, second.inputs, used);
    PairedTensors outputs = pair_ends(first.outputs, second.outputs, used);
    Judge judge(used, first.model, second.model);
    judge.take_inputs(inputs.pairs);
    for (const Aligned& pair : result.calls) {
        if (pair.first != kNoPartner && pair.second != kNoPartner) {
            result.verdicts.push_back(judge.judge(first.calls[pair.first], second.calls[pair.second]));
            continue;
        }
        if (pair.first != kNoPartner) judge.pass(first.calls[pair.first]);
        result.verdicts.emplace_back();
    }
    judge.take_outputs(outputs.pairs);
    result.all_inputs = agreement_of(inputs, first.has_inputs && second.has_inputs);
    result.all_outputs = agreement_of(outputs, first.has_outputs && second.has_outputs);
    std::ranges::copy_if(inputs.pairs, std::back_inserter(result.inputs), [](const TensorPair& pair) {
        return pair.compared.agreement == Agreement::different;
    });
    blame_inner_calls(first, result);
    return result;
}

}  // namespace aoti_dbg::compare
