// Makes a captured launch smaller, as long as it shows the same verdict, and writes it as a bundle.
#pragma once

#include "cli/replay/launch_files.hpp"
#include "cli/replay/replay.hpp"

namespace aoti_dbg::cli {

/// Prints what is left of the launch, and returns the exit code: 0 if the bundle shows the verdict, else
/// kReplayTrouble.
int minimize(const ReplayRequest& request, const LaunchFile& file);

}  // namespace aoti_dbg::cli
