// Replays launches in child processes. A fault makes a process's context unusable, so the launches after it
// run in a new child.
#pragma once

#include <functional>
#include <vector>

#include "cli/replay/replays.hpp"

namespace aoti_dbg::cli {

struct ReplayHandlers {
    ReplayReport report;
    /// Called after each fault, in a new child. May be empty.
    std::function<int(const LaunchFile& file, std::uint32_t pass)> at_fault;
    /// Called first in each child that replays. May be empty.
    std::function<void()> at_start;
};

/// Returns the exit code. Fails if a child cannot start or a signal ends it. The driver must not have started
/// in this process.
Result<int> replay_in_children(const ReplayRequest& request, const std::vector<LaunchFile>& files,
                               const ReplayHandlers& handlers);

}  // namespace aoti_dbg::cli
