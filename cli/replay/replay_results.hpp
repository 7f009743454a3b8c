// The results of replays as data, for commands that count them.
#pragma once

#include <functional>
#include <vector>

#include "cli/replay/replay_children.hpp"

namespace aoti_dbg::cli {

/// Replays each launch once, in child processes, in which `at_start` is called first. Fails without a GPU, or
/// if a child ends early. The driver must not have started in this process.
Result<std::vector<LaunchResult>> replay_results(const std::vector<LaunchFile>& files,
                                                 const std::function<void()>& at_start);

}  // namespace aoti_dbg::cli
