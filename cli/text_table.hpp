// Aligns the columns of a table on a terminal.
#pragma once

#include <string>
#include <vector>

namespace aoti_dbg::cli {

using TableRow = std::vector<std::string>;

/// Returns a line for each row. `to_the_right` says how each column is aligned. The last column is not
/// padded, and a very wide cell does not widen the others of its column.
std::string aligned(const std::vector<TableRow>& rows, const std::vector<bool>& to_the_right);

}  // namespace aoti_dbg::cli
