// Which variables of an environment a report tells: those that change what a model does, and none that could
// hold a secret. The one list for who writes them down and who reports them.
#pragma once

#include <string_view>
#include <vector>

namespace aoti_dbg {

/// Whether it is told, by its name or how that begins.
bool is_relevant_variable(std::string_view name);

/// Those of them whose whole name is known. Each ends in a NUL byte, fit for getenv.
const std::vector<std::string_view>& telling_names();

}  // namespace aoti_dbg
