// Finds where two aligned runs part: which calls diverge on their own, and which only pass a difference on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compare/agreement.hpp"
#include "compare/alignment.hpp"
#include "compare/pairing.hpp"
#include "compare/recorded_run.hpp"

namespace aoti_dbg::compare {

enum class CallVerdict : std::uint8_t {
    equal,     // outputs and inputs are equal, as far as is known
    diverges,  // a difference begins here
    follows,   // its inputs differ because of an earlier difference
    absorbs,   // its inputs differ, but its outputs are equal
    unknown,   // too little is known
};

/// Why a difference begins at a call.
enum class Origin : std::uint8_t {
    none,
    call,      // its inputs are equal, but an output differs
    scalar,    // an argument that is not a tensor differs
    constant,  // a weight or another constant differs
    memory,    // an input differs, although it was equal when it was last recorded
    unseen,    // an input differs, and what wrote it is not recorded
    alone,     // an input differs, and a call without a partner wrote it
    result,    // the calls returned different results
};

struct CallDivergence {
    CallVerdict verdict = CallVerdict::unknown;
    Origin origin = Origin::none;
    /// The tensor that shows the difference, if the verdict is `diverges`.
    std::optional<TensorPair> tensor;
    /// With Origin::memory: the call that last recorded the tensor. kNoCallNumber: the run's inputs.
    std::uint32_t last_equal = kNoCallNumber;
    Agreement inputs = Agreement::unknown;
    Agreement outputs = Agreement::unknown;
};

struct RunDivergence {
    std::vector<Aligned> calls;
    std::vector<CallDivergence> verdicts;  // of each entry of `calls`; those without a partner are `unknown`
    std::vector<TensorPair> inputs;        // of the run, those that differ
    Agreement all_inputs = Agreement::equal;
    Agreement all_outputs = Agreement::equal;
};

/// The runs must outlive the result.
RunDivergence diverge(const RecordedRun& first, const RecordedRun& second);

/// Aligns the calls by their place in the model, then by name, then by name without its number, then by the
/// nodes that they compute.
std::vector<Aligned> align_calls(const RecordedRun& first, const RecordedRun& second);

}  // namespace aoti_dbg::compare
