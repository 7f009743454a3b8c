// What `aoti-dbg diff --format json` prints: one object, documented in docs/reference/diff.md.
#pragma once

#include <string>

#include "compare/comparison.hpp"

namespace aoti_dbg::cli {

std::string diff_json(const compare::Comparison& comparison, std::size_t limit);

}  // namespace aoti_dbg::cli
