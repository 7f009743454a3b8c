#include "compare/divergence.hpp"

#include <algorithm>
#include <iterator>
#include <span>
#include <string_view>
#include <unordered_map>

namespace aoti_dbg::compare {
namespace {

bool is_input(const RecordedTensor& tensor) {
    const Role role = tensor.facts->role;
    return !tensor.is_unwritten && role != Role::writes && role != Role::makes;
}

bool is_output(const RecordedTensor& tensor) {
    return tensor.tensor != nullptr && tensor.facts->role != Role::reads;
}

struct Bytes {
    std::uint64_t begin = 0;
    std::uint64_t end = 0;
};

Bytes bytes_of(const RecordedTensor& tensor) {
    if (tensor.tensor == nullptr || tensor.address == 0 || !tensor.tensor->sizes_known) return {};
    const TensorFacts& facts = *tensor.tensor;
    std::uint64_t last = 0;
    for (std::size_t i = 0; i < facts.sizes.size() && i < facts.strides.size(); ++i) {
        if (facts.sizes[i] <= 0) return {};
        last += static_cast<std::uint64_t>(facts.sizes[i] - 1) * static_cast<std::uint64_t>(facts.strides[i]);
    }
    return {tensor.address, tensor.address + (last + 1) * element_size(facts.measured_dtype)};
}

/// Whether the tensor covers all bytes between its first and its last.
bool is_dense(const RecordedTensor& tensor, const Bytes& bytes) {
    return element_count(tensor.tensor->sizes) * element_size(tensor.tensor->measured_dtype) ==
           bytes.end - bytes.begin;
}

/// What is known of the tensors of the first run after the calls so far.
class Memory {
  public:
    struct State {
        Agreement agreement = Agreement::unknown;
        std::uint32_t call = kNoCallNumber;
        std::size_t order = 0;
        bool is_alone = false;
    };

    void record(const TensorPair& pair, std::uint32_t call) {
        record(*pair.first, {pair.compared.agreement, call, 0, false});
    }
    /// A call wrote it that the other run does not have.
    void record_alone(const RecordedTensor& tensor, std::uint32_t call) {
        record(tensor, {Agreement::unknown, call, 0, true});
    }
    void record(const RecordedTensor& tensor, State state) {
        if (tensor.tensor == nullptr) return;
        state.order = ++order_;
        by_label_[tensor.facts->label] = state;
        const Bytes bytes = bytes_of(tensor);
        if (bytes.begin == bytes.end) return;
        if (is_dense(tensor, bytes)) {
            std::erase_if(different_, [&](const Different& one) {
                return bytes.begin <= one.bytes.begin && one.bytes.end <= bytes.end;
            });
        }
        if (state.agreement == Agreement::different) different_.push_back({bytes, state.order});
    }

    /// A call may have changed it, and how is not recorded.
    void forget(const RecordedTensor& tensor) { record(tensor, {}); }

    [[nodiscard]] const State* of(const RecordedTensor& tensor) const {
        const auto found = by_label_.find(tensor.facts->label);
        return found == by_label_.end() ? nullptr : &found->second;
    }
    /// Whether something wrote a difference to this memory after that.
    [[nodiscard]] bool is_different_since(const RecordedTensor& tensor, std::size_t order) const {
        const Bytes bytes = bytes_of(tensor);
        return std::ranges::any_of(different_, [&](const Different& one) {
            return one.order >= order && one.bytes.begin < bytes.end && bytes.begin < one.bytes.end;
        });
    }

  private:
    struct Different {
        Bytes bytes;
        std::size_t order = 0;
    };
    std::unordered_map<std::string_view, State> by_label_;
    std::vector<Different> different_;
    std::size_t order_ = 0;
};

class Judge {
  public:
    void take_inputs(const std::vector<TensorPair>& inputs) {
        for (const TensorPair& pair : inputs) {
            if (pair.second == nullptr) continue;
            memory_.record(pair, kNoCallNumber);
            has_other_shapes_ = has_other_shapes_ || pair.compared.grade == Grade::shape;
        }
    }

    CallDivergence judge(const RecordedCall& first, const RecordedCall& second) {
        const PairedTensors before = pair_arguments(first.before, second.before);
        const PairedTensors after = pair_arguments(first.after, second.after);
        const bool has_before = first.has_before && second.has_before && before.is_whole;
        const bool has_after = first.has_after && second.has_after && after.is_whole;
        CallDivergence result;
        result.inputs = has_before ? Agreement::equal : Agreement::unknown;
        result.outputs = has_after ? Agreement::equal : Agreement::unknown;
        const bool has_new = judge_inputs(before.pairs, result);
        const TensorPair* differing = nullptr;
        for (const TensorPair& pair : after.pairs) {
            if (!is_output(*pair.first)) continue;
            result.outputs = weaker(result.outputs, pair.compared.agreement);
            if (pair.compared.agreement == Agreement::different && differing == nullptr) differing = &pair;
        }
        conclude(first, second, differing, has_new, result);
        record(before.pairs, after.pairs, first.call, has_after);
        return result;
    }

    /// The call has no partner.
    void pass(const RecordedCall& first) {
        for (const RecordedTensor& tensor : first.after)
            if (is_output(tensor)) memory_.record_alone(tensor, first.call);
    }

  private:
    /// Fills what concerns the inputs. Returns whether a difference begins at one of them.
    bool judge_inputs(const std::vector<TensorPair>& pairs, CallDivergence& result) {
        bool follows = false;
        std::optional<TensorPair> scalar;
        for (const TensorPair& pair : pairs) {
            if (!is_input(*pair.first)) continue;
            result.inputs = weaker(result.inputs, pair.compared.agreement);
            if (pair.compared.agreement != Agreement::different) continue;
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
            result.tensor = scalar;
        }
        return result.origin != Origin::none;
    }

    /// Returns Origin::none if an earlier call explains the difference.
    Origin origin_of(const RecordedTensor& tensor, std::uint32_t& last_equal) const {
        const Memory::State* const state = memory_.of(tensor);
        if (memory_.is_different_since(tensor, state == nullptr ? 0 : state->order)) return Origin::none;
        const bool is_known = state != nullptr && (state->is_alone || state->agreement != Agreement::unknown);
        if (!is_known) return tensor.facts->original_fqn.empty() ? Origin::unseen : Origin::constant;
        if (state->agreement == Agreement::different) return Origin::none;
        if (state->is_alone) return Origin::alone;
        last_equal = state->call;
        return Origin::memory;
    }

    void conclude(const RecordedCall& first, const RecordedCall& second, const TensorPair* differing,
                  bool has_new, CallDivergence& result) {
        const bool parts = result.outputs == Agreement::different || first.result != second.result;
        if (result.inputs == Agreement::different) {
            const bool ends_equal =
                result.outputs == Agreement::equal || result.outputs == Agreement::not_seen;
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

    void record(const std::vector<TensorPair>& before, const std::vector<TensorPair>& after,
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

    bool has_other_shapes_ = false;  // among the inputs of the run
    bool has_begun_ = false;         // some call has diverged
    Memory memory_;
};

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

}  // namespace

std::vector<Aligned> align_calls(const RecordedRun& first, const RecordedRun& second) {
    Numbers numbers;
    const std::vector<Keys> ours = keys_of(first, numbers);
    const std::vector<Keys> theirs = keys_of(second, numbers);
    return align(std::span(ours), std::span(theirs));
}

RunDivergence diverge(const RecordedRun& first, const RecordedRun& second) {
    RunDivergence result;
    const PairedTensors inputs = pair_ends(first.inputs, second.inputs);
    const PairedTensors outputs = pair_ends(first.outputs, second.outputs);
    result.all_inputs = agreement_of(inputs, first.has_inputs && second.has_inputs);
    result.all_outputs = agreement_of(outputs, first.has_outputs && second.has_outputs);
    std::ranges::copy_if(inputs.pairs, std::back_inserter(result.inputs), [](const TensorPair& pair) {
        return pair.compared.agreement == Agreement::different;
    });
    result.calls = align_calls(first, second);
    Judge judge;
    judge.take_inputs(inputs.pairs);
    for (const Aligned& pair : result.calls) {
        if (pair.first != kNoPartner && pair.second != kNoPartner) {
            result.verdicts.push_back(judge.judge(first.calls[pair.first], second.calls[pair.second]));
            continue;
        }
        if (pair.first != kNoPartner) judge.pass(first.calls[pair.first]);
        result.verdicts.emplace_back();
    }
    blame_inner_calls(first, result);
    return result;
}

}  // namespace aoti_dbg::compare
