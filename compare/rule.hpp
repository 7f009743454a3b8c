// Which differences between two tensors count: any bit, more than a given tolerance, or more than rounding
// explains.
#pragma once

#include <cstdint>
#include <limits>

#include "compare/element_difference.hpp"
#include "compare/recorded_run.hpp"

namespace aoti_dbg::compare {

enum class RuleKind : std::uint8_t {
    automatic,  // bits for runs of the same build, else derived
    bits,
    given,    // Rule::given
    dtype,    // by dtype, as torch.testing.assert_close
    derived,  // from dtypes, the lengths of reductions, and how far a call's inputs are apart
};

struct Rule {
    RuleKind kind = RuleKind::automatic;
    Closeness given = {};
};

/// The tolerance of a rule that has one for each tensor: zero unless it is `given` or `dtype`.
Closeness closeness_of(const Rule& rule, DType first, DType second);

/// How far two tensors are apart, relative to their values. Mean, standard deviation, minimum and maximum
/// show a common error and hide rounding. Elements show both.
struct Spread {
    double shift = 0;          // of mean and standard deviation, by the root mean square of the values
    double range = 0;          // of minimum and maximum, by the largest value
    double typical = 0;        // root mean square of the differences, by that of the values
    double largest = 0;        // largest difference, by the largest value
    bool has_elements = true;  // typical and largest are known

    /// Whether everything that both know is within it.
    [[nodiscard]] bool is_within(const Spread& allowed) const {
        const bool both = has_elements && allowed.has_elements;
        return shift <= allowed.shift && range <= allowed.range &&
               (!both || (typical <= allowed.typical && largest <= allowed.largest));
    }
};

inline constexpr double kInfinitelyFar = std::numeric_limits<double>::infinity();
inline constexpr Spread kApart{kInfinitelyFar, kInfinitelyFar, kInfinitelyFar, kInfinitelyFar, true};

/// The larger one of each, as far as both know.
Spread wider(const Spread& one, const Spread& other);

Spread spread_of(const ElementDifference& difference);
/// Both have the same number of elements.
Spread spread_of(const TensorStatistics& first, const TensorStatistics& second);

/// What a call may add to the spread of its inputs.
struct Rounding {
    double unit = 0;  // the largest relative error of rounding a number of any of its tensors; 0: integers
    std::uint64_t operations = 1;  // that a fused kernel computes
    std::uint64_t reduction = 1;   // elements that become one
};
Rounding rounding_of(const RecordedCall& first, const RecordedCall& second);
/// The larger one of each.
Rounding rougher(const Rounding& one, const Rounding& other);

/// How far two results may be apart if the call's inputs are that far apart.
Spread allowed_after(const Rounding& rounding, const RecordedTensor& result, const Spread& inputs);
/// How far a tensor may be apart that was that far apart when it was last seen. Zero: it was never seen.
Spread allowed_for_input(const RecordedTensor& first, const RecordedTensor& second, const Spread& earlier);

}  // namespace aoti_dbg::compare
