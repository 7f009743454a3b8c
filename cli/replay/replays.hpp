// Replays launches on a GPU, within this process.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "cli/replay/driver.hpp"
#include "cli/replay/fault_dump.hpp"
#include "cli/replay/launch_files.hpp"
#include "cli/replay/launched.hpp"
#include "cli/replay/replay.hpp"

namespace aoti_dbg::cli {

/// What is replayed now, for another process to read.
struct ReplayProgress {
    std::uint32_t launch = 0;  // index
    std::uint32_t pass = 0;    // of the launch
    int worst = kReplayEqual;  // exit code so far
};

/// Prints an error, and returns the exit code.
int report_trouble(const Status& status);

/// Replays these launches from `progress.launch` on, prints what they gave, and returns the exit code. Stops
/// at a fault.
int replay_here(const ReplayRequest& request, const std::vector<LaunchFile>& files, ReplayProgress& progress);

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
