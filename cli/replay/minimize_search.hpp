// Searches for the smallest part of a launch that still has a property. Knows nothing about launches: a
// function tries a part and says whether it has the property.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace aoti_dbg::cli {

/// Returns the smallest number from 1 to `most` that holds, if all numbers above it hold. In any case, the
/// returned number holds. `most` is known to hold, and is not tried.
std::uint32_t smallest_prefix(std::uint32_t most, const std::function<bool(std::uint32_t)>& holds);

using Rows = std::vector<std::size_t>;  // ascending

/// Returns the rows that are left after removing chunks of them, first halves and at last single ones, as
/// long as the rest holds. Tries at most `most_trials` times. All rows together are known to hold.
Rows needed_rows(Rows rows, std::size_t most_trials, const std::function<bool(const Rows&)>& holds);

/// Returns "row 15 of 16 matters" or "rows 3, 7 and 12 to 15 of 64 matter".
std::string row_words(const Rows& rows, std::size_t count);

}  // namespace aoti_dbg::cli
