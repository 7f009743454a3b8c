// The elements of tensors that a recording saved as `.pt` files (level 1).
#pragma once

#include <string>

#include "compare/comparison.hpp"

namespace aoti_dbg::cli {

/// Adds the elements of the tensors that the comparison lists first, if both recordings saved them. The paths
/// are those of their events.
void add_saved_elements(const std::string& first, const std::string& second, compare::Comparison& to);

}  // namespace aoti_dbg::cli
