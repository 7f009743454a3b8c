// Prints what captured launches consist of, without a GPU.
#pragma once

#include <vector>

#include "cli/replay/launch_files.hpp"

namespace aoti_dbg::cli {

/// Prints the launches, at least one, of one recording. Returns the exit code.
int inspect_launches(const std::vector<LaunchFile>& launches);

}  // namespace aoti_dbg::cli
