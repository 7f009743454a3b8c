// Finds the partner of a run in a reference: the results of a graph's nodes in eager mode. A kernel computes
// one node or several, so its tensors are matched by node, by weight, and by contents.
#pragma once

#include <deque>
#include <vector>

#include "compare/agreement.hpp"
#include "compare/recorded_run.hpp"

namespace aoti_dbg::compare {

/// A run, and the same calls with the tensors of a reference. Inputs of calls without a match are not
/// measured. Outputs without one, such as the mean of a normalization, are left out of both, unless the call
/// has no other.
struct ReferencePartner {
    RecordedRun own;
    RecordedRun run;  // the symbol of a call is the module that computes it
    std::deque<SiteFacts> sites;
    std::deque<ArgumentFacts> arguments;
    std::deque<TensorFacts> tensors;
};

/// Each graph is a run: a call for each node, and one before them whose arguments are the weights. Returns
/// the partner from the graph with most of the run's nodes. There must be a graph. Graphs, run and facts must
/// outlive it.
ReferencePartner partner_of(const RecordedRun& run, const std::vector<RecordedRun>& graphs,
                            const Evidence& evidence);

}  // namespace aoti_dbg::compare
