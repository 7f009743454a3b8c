// Finds the versions of torch and Triton from the packages next to a program's Python or a model's libtorch.
// It reads folder names only and must not start or load anything.
#pragma once

#include <string>
#include <vector>

#include "triage/gather/machine_facts.hpp"

namespace aoti_dbg {

/// Returns the packages of the first of `programs` that is a Python.
NamedTexts packages_of_python(const std::vector<std::string>& programs);

/// Returns the packages next to the libtorch that the models kept in `folder` called; the first found of
/// each.
NamedTexts packages_of_models(const std::string& folder);

}  // namespace aoti_dbg
