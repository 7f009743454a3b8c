#include "compare/pairing.hpp"

#include <algorithm>

namespace aoti_dbg::compare {
namespace {

using Tensors = std::span<const RecordedTensor>;

bool is_alike(const RecordedTensor& one, const RecordedTensor& other) {
    return (one.tensor == nullptr) == (other.tensor == nullptr);
}

/// Whether both lists have the same kinds of arguments in the same places.
bool is_same_form(Tensors first, Tensors second) {
    return std::ranges::equal(first, second, [](const RecordedTensor& one, const RecordedTensor& other) {
        return is_alike(one, other) && one.facts->position == other.facts->position;
    });
}

PairedTensors by_place(Tensors first, Tensors second, const Evidence& evidence) {
    PairedTensors paired;
    for (std::size_t i = 0; i < first.size(); ++i)
        paired.pairs.push_back({&first[i], &second[i], compare(first[i], second[i], evidence)});
    return paired;
}

/// Whether both have the same labels in another order, each with its own shape.
bool is_reordered(Tensors first, Tensors second) {
    return std::ranges::is_permutation(
        first, second, [](const RecordedTensor& one, const RecordedTensor& other) {
            return is_alike(one, other) && one.facts->label == other.facts->label &&
                   (one.tensor == nullptr || one.tensor->sizes == other.tensor->sizes);
        });
}

bool has_same_shapes(Tensors first, Tensors second) {
    return std::ranges::equal(first, second, [](const RecordedTensor& one, const RecordedTensor& other) {
        return one.tensor == nullptr || other.tensor == nullptr || one.tensor->sizes == other.tensor->sizes;
    });
}

/// `proves`: tensors with the same label are the same tensor.
PairedTensors by_label(Tensors first, Tensors second, bool proves, const Evidence& evidence) {
    PairedTensors paired;
    std::vector<bool> used(second.size());
    for (const RecordedTensor& tensor : first) {
        TensorPair& pair = paired.pairs.emplace_back(TensorPair{&tensor, nullptr, {}});
        for (std::size_t i = 0; i < second.size() && pair.second == nullptr; ++i) {
            const RecordedTensor& other = second[i];
            if (used[i] || !is_alike(tensor, other) || tensor.facts->label != other.facts->label) continue;
            if (tensor.tensor != nullptr && tensor.tensor->sizes != other.tensor->sizes) continue;
            used[i] = true;
            pair.second = &other;
            pair.compared = compare(tensor, other, evidence);
            if (!proves && pair.compared.agreement == Agreement::different) pair.compared = {};
        }
    }
    paired.is_whole = std::ranges::all_of(used, [](bool is_used) { return is_used; });
    return paired;
}

std::vector<const RecordedTensor*> tensors_of(Tensors all) {
    std::vector<const RecordedTensor*> tensors;
    for (const RecordedTensor& one : all)
        if (one.tensor != nullptr) tensors.push_back(&one);
    return tensors;
}

bool compute_same_nodes(const SiteFacts& one, const SiteFacts& other) {
    return !one.source_nodes.empty() && one.source_nodes == other.source_nodes;
}

bool is_written(const RecordedTensor& tensor) {
    const Role role = tensor.facts->role;
    return tensor.tensor != nullptr && role != Role::reads && role != Role::unknown;
}

/// Returns the only tensor that the call writes, or null.
const RecordedTensor* only_result(Tensors tensors) {
    const auto found = std::ranges::find_if(tensors, is_written);
    return std::ranges::count_if(tensors, is_written) == 1 ? &*found : nullptr;
}

}  // namespace

PairedTensors pair_arguments(Tensors first, Tensors second, const Evidence& evidence) {
    const bool is_reordered_only = is_same_form(first, second) && is_reordered(first, second);
    if (is_reordered_only) return by_label(first, second, true, evidence);
    // Other sizes in the same places are those of another batch, unless the dtypes show another build.
    const bool have_same_places = is_same_form(first, second) &&
                                  (evidence.rule.kind != RuleKind::derived || has_same_shapes(first, second));
    return have_same_places ? by_place(first, second, evidence) : by_label(first, second, false, evidence);
}

PairedTensors pair_results(const RecordedCall& first, const RecordedCall& second, const Evidence& evidence) {
    PairedTensors paired = pair_arguments(first.after, second.after, evidence);
    const RecordedTensor* const ours = only_result(first.after);
    const RecordedTensor* const theirs = only_result(second.after);
    const bool is_same = ours != nullptr && theirs != nullptr && !is_same_form(first.after, second.after) &&
                         ours->tensor->sizes == theirs->tensor->sizes &&
                         compute_same_nodes(*first.site, *second.site);
    if (!is_same) return paired;
    for (TensorPair& pair : paired.pairs) {
        if (pair.first == ours)
            pair = {ours, theirs, compare(*ours, *theirs, evidence)};
        else if (pair.second == theirs)
            pair = {pair.first, nullptr, {}};
    }
    paired.is_whole = std::ranges::all_of(second.after, [&](const RecordedTensor& tensor) {
        const bool is_read_only = tensor.tensor == nullptr || tensor.facts->role == Role::reads;
        return is_read_only ||
               std::ranges::find(paired.pairs, &tensor, &TensorPair::second) != paired.pairs.end();
    });
    return paired;
}

PairedTensors pair_ends(Tensors first, Tensors second, const Evidence& evidence) {
    if (is_same_form(first, second)) return by_place(first, second, evidence);
    const std::vector<const RecordedTensor*> ours = tensors_of(first);
    const std::vector<const RecordedTensor*> theirs = tensors_of(second);
    if (ours.size() != theirs.size()) return by_label(first, second, false, evidence);
    PairedTensors paired;
    for (std::size_t i = 0; i < ours.size(); ++i)
        paired.pairs.push_back({ours[i], theirs[i], compare(*ours[i], *theirs[i], evidence)});
    return paired;
}

}  // namespace aoti_dbg::compare
