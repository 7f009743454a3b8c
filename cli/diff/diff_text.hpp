// What `aoti-dbg diff` prints for people.
#pragma once

#include <string>

#include "compare/comparison.hpp"

namespace aoti_dbg::cli {

/// Returns whole lines.
std::string diff_text(const compare::Comparison& comparison, std::size_t limit);

}  // namespace aoti_dbg::cli
