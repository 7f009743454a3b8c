// Compares the recordings of the ranks of one run with each other.
#pragma once

#include "cli/diff/diff.hpp"

namespace aoti_dbg::cli {

/// `request.first` is the directory with all of them. Returns the exit code of diff().
int diff_ranks(const DiffRequest& request);

}  // namespace aoti_dbg::cli
