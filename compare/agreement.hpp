// Compares what two recordings know of a tensor.
#pragma once

#include <cstdint>
#include <memory>

#include "compare/known_differences.hpp"
#include "compare/recorded_run.hpp"
#include "compare/repetition.hpp"
#include "compare/rule.hpp"
#include "compare/saved_tensors.hpp"

namespace aoti_dbg::compare {

/// The best evidence that both recordings have, from none to best.
enum class Grade : std::uint8_t {
    none,        // one side was not measured
    shape,       // dtypes or sizes differ
    statistics,  // a difference proves inequality, but equal statistics prove nothing
    values,      // all elements, as recorded with the call; NaNs have no bits
    files,       // all elements, as saved
    hash,        // bit by bit
};

enum class Agreement : std::uint8_t {
    equal,      // proven
    close,      // within the tolerance, proven
    not_seen,   // no difference in the statistics, or none beyond the tolerance
    unknown,    // no evidence
    different,  // proven
};

struct Compared {
    Agreement agreement = Agreement::unknown;
    Grade grade = Grade::none;
    bool bits_differ = false;  // proven, whatever the tolerance allows
    Spread spread = {};
    std::shared_ptr<const ElementDifference> elements = nullptr;  // if all elements were compared
};

/// How two recordings are compared.
struct Evidence {
    Rule rule = {};
    SavedTensors* first = nullptr;
    SavedTensors* second = nullptr;
    const RepetitionsOfBoth* repetitions = nullptr;  // with RuleKind::derived
    KnownDifferences* known = nullptr;               // of one pair of recordings and one rule
};

/// With RuleKind::derived, `different` is not final: settle() decides. RuleKind::automatic is as `bits`.
Compared compare(const RecordedTensor& first, const RecordedTensor& second, const Evidence& evidence);

/// Makes tensors that differ agree if they are not further apart than this.
void settle(Compared& compared, const Spread& allowed);

/// Compares all elements, if both recordings have them.
std::shared_ptr<const ElementDifference> compare_elements(const RecordedTensor& first,
                                                          const RecordedTensor& second,
                                                          const Evidence& evidence);

/// Returns the weaker one: `different` before `unknown` before `not_seen` before `close` before `equal`.
constexpr Agreement weaker(Agreement one, Agreement other) {
    return one > other ? one : other;
}

}  // namespace aoti_dbg::compare
