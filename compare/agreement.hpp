// Compares what two recordings know of a tensor.
#pragma once

#include <cstdint>

#include "compare/recorded_run.hpp"

namespace aoti_dbg::compare {

/// The best evidence that both recordings have, from none to best.
enum class Grade : std::uint8_t {
    none,        // one side was not measured
    shape,       // dtypes or sizes differ
    statistics,  // a difference proves inequality, but equal statistics prove nothing
    values,      // all elements; NaNs have no bits
    hash,        // bit by bit
};

enum class Agreement : std::uint8_t {
    equal,      // proven
    not_seen,   // no difference in the statistics
    unknown,    // no evidence
    different,  // proven
};

struct Compared {
    Agreement agreement = Agreement::unknown;
    Grade grade = Grade::none;
};

Compared compare(const RecordedTensor& first, const RecordedTensor& second);

/// Returns the weaker one: `different` before `unknown` before `not_seen` before `equal`.
constexpr Agreement weaker(Agreement one, Agreement other) {
    return one > other ? one : other;
}

}  // namespace aoti_dbg::compare
