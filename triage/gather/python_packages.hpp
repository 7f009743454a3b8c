// Versions of torch and Triton, by the packages that lie where a program's Python or a model's libtorch has
// them. Reads the names of folders only; starts and loads nothing.
#pragma once

#include <string>
#include <vector>

#include "triage/gather/machine_facts.hpp"

namespace aoti_dbg {

/// Beside the Python that one of `programs` is, in their order, if any is one.
NamedTexts packages_of_python(const std::vector<std::string>& programs);

/// Beside the libtorch that the models called whose packages are kept in `folder`; of each the first that is
/// found.
NamedTexts packages_of_models(const std::string& folder);

}  // namespace aoti_dbg
