// The steps that every form of `aoti-dbg diff` has in common.
#pragma once

#include <optional>

#include "cli/diff/diff.hpp"
#include "cli/diff/recording.hpp"
#include "compare/comparison.hpp"

namespace aoti_dbg::cli {

/// The request and the recordings must outlive the method.
compare::Method method_of(const DiffRequest& request, Recording& first, Recording& second);

/// Reads the elements of the tensors that are listed first, if both recordings saved them.
void add_elements(const compare::Evidence& evidence, compare::Comparison& to);

/// Compares run by run. Prints an error if a recording cannot be read or has no runs.
std::optional<compare::Comparison> compare_all(Recording& first, Recording& second,
                                               const compare::Method& method);

/// Whether the exit code is 1.
bool fails(const compare::Comparison& comparison, const DiffRequest& request);

}  // namespace aoti_dbg::cli
