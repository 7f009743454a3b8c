// What runs with equal inputs and weights of one recording computed differently: a kernel that adds in any
// order does not repeat its results.
#pragma once

#include <array>
#include <map>
#include <utility>
#include <vector>

#include "compare/recorded_run.hpp"
#include "compare/rule.hpp"

namespace aoti_dbg::compare {

/// Remembers a few calls for each place in a model, so memory does not grow with the number of runs.
class Repetitions {
  public:
    /// Compares the calls of a run with those of earlier runs at the same places.
    void add(const RecordedRun& run);

    /// How far apart the results at that place were in equal runs. Zero: they repeated, or were never seen.
    [[nodiscard]] Spread spread_at(std::uint32_t model, const SiteFacts& site) const;

  private:
    struct Seen {
        std::uint64_t inputs = 0;  // a hash of those of the run, and of the weights up to the call
        std::vector<RecordedTensor> results;
    };
    struct Place {
        std::array<Seen, 4> last;  // with different inputs
        std::size_t next = 0;
        Spread spread;
    };
    void add(std::uint32_t model, const RecordedCall& call, std::uint64_t inputs);

    std::map<std::pair<std::uint32_t, const SiteFacts*>, Place>
        places_;  // two models can have the same facts
};

struct RepetitionsOfBoth {
    Repetitions first;
    Repetitions second;
};

}  // namespace aoti_dbg::compare
