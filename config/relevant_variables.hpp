// Lists the environment variables that a report shows: those that change what a model does. It must not list
// variables that could contain secrets. The code that records variables and the code that reports them share
// this list.
#pragma once

#include <string_view>
#include <vector>

namespace aoti_dbg {

/// Returns whether reports show the variable, by its name or prefix.
bool is_relevant_variable(std::string_view name);

/// Returns the variables that are known by their whole name. Each ends in a NUL byte, for getenv.
const std::vector<std::string_view>& relevant_names();

}  // namespace aoti_dbg
