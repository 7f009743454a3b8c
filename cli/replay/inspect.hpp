// Prints what captured launches consist of, without a GPU.
#pragma once

#include <vector>

#include "cli/replay/launch_files.hpp"

namespace aoti_dbg::cli {

/// Prints the launches of one recording, which are at least one. Returns the exit code.
int inspect_launches(const std::vector<LaunchFile>& launches);

}  // namespace aoti_dbg::cli
