#include "compare/judge.hpp"

#include <algorithm>
#include <utility>

namespace aoti_dbg::compare {
namespace {

bool is_tensor(const TensorPair& pair) {
    return pair.first->tensor != nullptr && pair.second != nullptr && pair.second->tensor != nullptr;
}

bool differs(const TensorPair& pair) {
    return pair.compared.agreement == Agreement::different;
}

/// A few repetitions do not show the largest difference that chance can make.
Spread widened(const Spread& seen) {
    constexpr double kMargin = 8;
    return {kMargin * seen.shift, kMargin * seen.range, kMargin * seen.typical, kMargin * seen.largest,
            seen.has_elements};
}

}  // namespace

void Judge::take_inputs(std::vector<TensorPair>& inputs) {
    for (TensorPair& pair : inputs) {
        if (pair.second == nullptr) continue;
        if (derives() && is_tensor(pair))
            settle(pair.compared, allowed_for_input(*pair.first, *pair.second, {}));
        if (!differs(pair)) widest_ = wider(widest_, pair.compared.spread);
        memory_.record(pair, kNoCallNumber);
        has_other_shapes_ = has_other_shapes_ || pair.compared.grade == Grade::shape;
    }
}

void Judge::take_outputs(std::vector<TensorPair>& outputs) {
    for (TensorPair& pair : outputs) {
        if (!derives() || !is_tensor(pair)) continue;
        const Memory::State* const state = memory_.of(*pair.first);
        if (state != nullptr && state->agreement == Agreement::different) continue;
        const bool is_known = state != nullptr && state->agreement != Agreement::unknown;
        settle(pair.compared,
               is_known ? allowed_for_input(*pair.first, *pair.second, memory_.spread_of(*pair.first))
                        : allowed_after(roughest_, *pair.first, widest_));
    }
}

CallDivergence Judge::judge(const RecordedCall& first, const RecordedCall& second) {
    PairedTensors before = pair_arguments(first.before, second.before, evidence_);
    PairedTensors after = pair_results(first, second, evidence_);
    const bool has_before = first.has_before && second.has_before && before.is_whole;
    const bool has_after = first.has_after && second.has_after && after.is_whole;
    CallDivergence result;
    result.inputs = has_before ? Agreement::equal : Agreement::unknown;
    result.outputs = has_after ? Agreement::equal : Agreement::unknown;
    const Inputs inputs = judge_inputs(before.pairs, result);
    const TensorPair* const differing = judge_outputs(first, second, after.pairs, inputs, result);
    const bool parts = result.outputs == Agreement::different || first.result != second.result;
    conclude(parts, differing, inputs.has_new, result);
    // What another form of the call wrote cannot be compared. It passes on the difference of the inputs.
    const bool passes_on = result.inputs == Agreement::different || reads_different(first);
    for (TensorPair& pair : after.pairs)
        if (passes_on && pair.compared.agreement == Agreement::unknown)
            pair.compared.agreement = Agreement::different;
    record(before.pairs, after.pairs, first.call, has_after);
    return result;
}

/// Whether an earlier call wrote something else to one of the inputs.
bool Judge::reads_different(const RecordedCall& first) const {
    return std::ranges::any_of(first.before, [this](const RecordedTensor& tensor) {
        const Memory::State* const state =
            is_input(tensor) && tensor.tensor != nullptr ? memory_.of(tensor) : nullptr;
        return state != nullptr && state->agreement == Agreement::different;
    });
}

void Judge::pass(const RecordedCall& first) {
    for (const RecordedTensor& tensor : first.after)
        if (is_output(tensor)) memory_.record_alone(tensor, first.call);
}

/// Lets an input be as far apart as it was before.
void Judge::settle_input(TensorPair& pair, CallDivergence& result) {
    if (!derives() || !differs(pair) || !is_tensor(pair)) return;
    const Memory::State* const state = memory_.of(*pair.first);
    const bool is_known = state != nullptr && !state->is_alone && state->agreement != Agreement::unknown;
    if (is_known && state->agreement == Agreement::different) return;
    const bool is_constant = !pair.first->facts->original_fqn.empty();
    const Spread earlier = is_known || is_constant ? memory_.spread_of(*pair.first) : widest_;
    const Spread allowed = allowed_for_input(*pair.first, *pair.second, earlier);
    settle(pair.compared, allowed);
    if (differs(pair) && result.origin == Origin::none) result.allowed = allowed;
}

/// Fills what concerns the inputs.
Judge::Inputs Judge::judge_inputs(std::vector<TensorPair>& pairs, CallDivergence& result) {
    Inputs inputs;
    bool follows = false;
    std::optional<TensorPair> scalar;
    for (TensorPair& pair : pairs) {
        if (!is_input(*pair.first)) continue;
        settle_input(pair, result);
        result.inputs = weaker(result.inputs, pair.compared.agreement);
        result.bits_differ = result.bits_differ || pair.compared.bits_differ;
        if (pair.compared.agreement == Agreement::unknown) inputs.spread = wider(inputs.spread, widest_);
        if (!differs(pair)) inputs.spread = wider(inputs.spread, pair.compared.spread);
        if (!differs(pair)) continue;
        if (pair.first->tensor == nullptr) {
            if (!scalar) scalar = pair;
            continue;
        }
        const Origin origin = origin_of(*pair.first, result.last_equal);
        follows = follows || origin == Origin::none;
        if (origin == Origin::none || result.origin != Origin::none) continue;
        result.origin = origin;
        result.tensor = pair;
    }
    // Sizes of other shapes are scalars that follow.
    if (scalar && !follows && !has_other_shapes_ && result.origin == Origin::none) {
        result.origin = Origin::scalar;
        result.tensor = std::move(scalar);
    }
    inputs.has_new = result.origin != Origin::none;
    return inputs;
}

/// Fills what concerns the outputs, and returns the first that differs.
const TensorPair* Judge::judge_outputs(const RecordedCall& first, const RecordedCall& second,
                                       std::vector<TensorPair>& pairs, const Inputs& inputs,
                                       CallDivergence& result) {
    const TensorPair* differing = nullptr;
    std::optional<Rounding> rounding;
    const bool inputs_round = result.bits_differ || result.inputs == Agreement::unknown;
    for (TensorPair& pair : pairs) {
        if (!is_output(*pair.first)) continue;
        // An index or a mask jumps where rounding decides a comparison.
        const bool may_jump =
            inputs_round && is_tensor(pair) && is_integer(pair.first->tensor->measured_dtype);
        if (derives() && result.inputs != Agreement::different && differs(pair) && is_tensor(pair)) {
            if (!rounding) rounding = rounding_of(first, second);
            roughest_ = rougher(roughest_, *rounding);
            const Spread allowed =
                may_jump ? kApart : allowed_for_result(first, second, *rounding, *pair.first, inputs.spread);
            settle(pair.compared, allowed);
            if (differs(pair) && differing == nullptr) result.allowed = allowed;
        }
        result.outputs = weaker(result.outputs, pair.compared.agreement);
        result.bits_differ = result.bits_differ || pair.compared.bits_differ;
        if (!differs(pair) && !may_jump) widest_ = wider(widest_, pair.compared.spread);
        if (differs(pair) && differing == nullptr) differing = &pair;
    }
    return differing;
}

Spread Judge::allowed_for_result(const RecordedCall& first, const RecordedCall& second,
                                 const Rounding& rounding, const RecordedTensor& result,
                                 const Spread& inputs) const {
    Spread allowed = allowed_after(rounding, result, inputs);
    if (evidence_.repetitions == nullptr) return allowed;
    for (const Spread& seen : {evidence_.repetitions->first.spread_at(first_model_, *first.site),
                               evidence_.repetitions->second.spread_at(second_model_, *second.site)})
        if (seen.shift > 0 || seen.range > 0 || seen.typical > 0) allowed = wider(allowed, widened(seen));
    return allowed;
}

/// Returns Origin::none if an earlier call explains the difference.
Origin Judge::origin_of(const RecordedTensor& tensor, std::uint32_t& last_equal) const {
    const Memory::State* const state = memory_.of(tensor);
    if (memory_.is_different_since(tensor, state == nullptr ? 0 : state->order)) return Origin::none;
    const bool is_known = state != nullptr && (state->is_alone || state->agreement != Agreement::unknown);
    if (!is_known) return tensor.facts->original_fqn.empty() ? Origin::unseen : Origin::constant;
    if (state->agreement == Agreement::different) return Origin::none;
    if (state->is_alone) return Origin::alone;
    last_equal = state->call;
    return Origin::memory;
}

void Judge::conclude(bool parts, const TensorPair* differing, bool has_new, CallDivergence& result) {
    if (result.inputs == Agreement::different) {
        const bool ends_equal = result.outputs <= Agreement::not_seen;
        result.verdict = has_new                ? CallVerdict::diverges
                         : !parts && ends_equal ? CallVerdict::absorbs
                                                : CallVerdict::follows;
    } else if (parts) {
        // Later calls without recorded inputs may only follow.
        const bool may_follow = result.inputs == Agreement::unknown && has_begun_;
        result.verdict = may_follow ? CallVerdict::follows : CallVerdict::diverges;
        result.origin = differing == nullptr ? Origin::result : Origin::call;
        if (differing != nullptr) result.tensor = *differing;
    } else {
        result.verdict = result.outputs == Agreement::unknown ? CallVerdict::unknown : CallVerdict::equal;
    }
    has_begun_ = has_begun_ || result.verdict == CallVerdict::diverges;
    if (result.verdict == CallVerdict::diverges) return;
    result.origin = Origin::none;
    result.tensor.reset();
}

void Judge::record(const std::vector<TensorPair>& before, const std::vector<TensorPair>& after,
                   std::uint32_t call, bool has_after) {
    for (const TensorPair& pair : before) {
        if (!is_input(*pair.first)) continue;
        const bool may_change = !has_after && pair.first->facts->role != Role::reads;
        if (may_change) memory_.forget(*pair.first);
        if (!may_change && pair.compared.agreement != Agreement::unknown) memory_.record(pair, call);
    }
    for (const TensorPair& pair : after)
        if (is_output(*pair.first)) memory_.record(pair, call);
}

}  // namespace aoti_dbg::compare
