// Replays launches on a GPU, within this process.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "cli/replay/driver.hpp"
#include "cli/replay/fault_dump.hpp"
#include "cli/replay/launch_files.hpp"
#include "cli/replay/launched.hpp"
#include "cli/replay/outcomes.hpp"
#include "cli/replay/replay.hpp"

namespace aoti_dbg::cli {

/// What the replay of one launch gave.
struct LaunchResult {
    std::uint32_t launch = 0;  // index
    ReplayOutcome outcome = ReplayOutcome::equal;
    std::string text;  // whole lines; for trouble, why it could not be replayed
};

/// Gets each result, in the process that replays. Returns false if it failed.
using ReplayReport = std::function<bool(const LaunchResult&)>;

/// What is replayed now, for another process to read.
struct ReplayProgress {
    std::uint32_t launch = 0;  // index
    std::uint32_t pass = 0;    // of the launch
    int worst = kReplayEqual;  // exit code so far
};

int exit_code_of(ReplayOutcome outcome);

/// Replays these launches from `progress.launch` on, and returns the exit code. Stops at a fault. Without a
/// GPU, it reports trouble of a launch behind the last one.
int replay_here(const ReplayRequest& request, const std::vector<LaunchFile>& files,
                const ReplayReport& report, ReplayProgress& progress);

/// Loads the launch's code, or that of the request.
Status load_code(Driver& driver, const ReplayRequest& request, const LaunchFile& file);

/// Returns how the launch is replayed, one after the other. The last pass of a good launch is the only one
/// that is printed.
std::vector<LaunchedOptions> passes_of(const ReplayRequest& request);

/// Repeats the launch that faulted, and returns what the driver's core dump says about it. The driver must
/// not have started in this process.
DumpedFault dumped_fault(const ReplayRequest& request, const LaunchFile& file,
                         const LaunchedOptions& options);

/// Does the same, and prints it.
int describe_fault(const ReplayRequest& request, const LaunchFile& file, std::uint32_t pass);

}  // namespace aoti_dbg::cli
