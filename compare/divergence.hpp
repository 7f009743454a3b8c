// Finds where two aligned runs part: which calls diverge on their own, and which only pass a difference on.
#pragma once

#include <vector>

#include "compare/alignment.hpp"
#include "compare/judge.hpp"
#include "compare/recorded_run.hpp"

namespace aoti_dbg::compare {

struct RunDivergence {
    RuleKind rule = RuleKind::bits;  // that was used
    std::vector<Aligned> calls;
    std::vector<CallDivergence> verdicts;  // of each entry of `calls`; those without a partner are `unknown`
    std::vector<TensorPair> inputs;        // of the run, those that differ
    Agreement all_inputs = Agreement::equal;
    Agreement all_outputs = Agreement::equal;
};

/// The runs must outlive the result.
RunDivergence diverge(const RecordedRun& first, const RecordedRun& second, const Evidence& evidence = {});

/// Aligns the calls by their place in the model, then by name, then by name without its number, then by the
/// nodes that they compute.
std::vector<Aligned> align_calls(const RecordedRun& first, const RecordedRun& second);

}  // namespace aoti_dbg::compare
