// Pairs the arguments of two calls, and the inputs or outputs of two runs.
#pragma once

#include <span>
#include <vector>

#include "compare/agreement.hpp"
#include "compare/recorded_run.hpp"

namespace aoti_dbg::compare {

/// A tensor of the first run, and its partner in the second. `second` is null if it has none.
struct TensorPair {
    const RecordedTensor* first = nullptr;
    const RecordedTensor* second = nullptr;
    Compared compared;
};

struct PairedTensors {
    std::vector<TensorPair> pairs;  // one for each tensor of the first
    bool is_whole = true;           // each tensor of the second has a partner
};

/// Pairs by place, because another build has other labels, or by label if only the order differs. Lists of
/// different forms are paired by label and shape. Such a pair can prove that the tensors are equal, but not
/// that they differ.
PairedTensors pair_arguments(std::span<const RecordedTensor> first, std::span<const RecordedTensor> second,
                             const Evidence& evidence);

/// Pairs what two calls had after they ran. If both compute the same nodes and each writes one tensor, these
/// two are the same tensor, even if the calls have different forms.
PairedTensors pair_results(const RecordedCall& first, const RecordedCall& second, const Evidence& evidence);

/// Pairs the inputs or outputs of two runs. If their forms differ, the tensors among them are paired in
/// order: another build may have other sizes as arguments.
PairedTensors pair_ends(std::span<const RecordedTensor> first, std::span<const RecordedTensor> second,
                        const Evidence& evidence);

}  // namespace aoti_dbg::compare
