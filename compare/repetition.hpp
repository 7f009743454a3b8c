// What calls with equal inputs of one recording computed differently: a kernel that adds in any order does
// not repeat its results.
#pragma once

#include <unordered_map>
#include <vector>

#include "compare/recorded_run.hpp"
#include "compare/rule.hpp"

namespace aoti_dbg::compare {

/// Remembers one call for each place in a model, so memory does not grow with the number of runs.
class Repetitions {
  public:
    /// Compares the calls of a run with the last ones at the same places.
    void add(const RecordedRun& run);

    /// How far apart the results of equal calls were at that place. Zero: they repeated, or were never seen.
    [[nodiscard]] Spread spread_at(const SiteFacts& site) const;

  private:
    struct Place {
        std::uint64_t inputs = 0;  // a hash of all of them
        std::vector<RecordedTensor> results;
        Spread spread;
    };
    std::unordered_map<const SiteFacts*, Place> places_;
};

struct RepetitionsOfBoth {
    Repetitions first;
    Repetitions second;
};

}  // namespace aoti_dbg::compare
