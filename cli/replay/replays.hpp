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

/// The result of replaying one launch.
struct LaunchResult {
    std::uint32_t launch = 0;  // index
    ReplayOutcome outcome = ReplayOutcome::equal;
    std::string text;  // whole lines; with `trouble`, the reason
};

/// Receives each result, in the process that replays. Returns false if it cannot report it.
using ReplayReport = std::function<bool(const LaunchResult&)>;

/// The launch in progress, in memory that another process reads.
struct ReplayProgress {
    std::uint32_t launch = 0;  // index
    std::uint32_t pass = 0;    // of the launch
    int worst = kReplayEqual;  // exit code so far
};

int exit_code_of(ReplayOutcome outcome);

/// Replays these launches from `progress.launch` on, and returns the exit code. Stops at a fault. Without a
/// GPU, it reports `trouble` with an index after the last launch.
int replay_here(const ReplayRequest& request, const std::vector<LaunchFile>& files,
                const ReplayReport& report, ReplayProgress& progress);

/// Loads the code of the request if it has any, else the launch's.
Status load_code(Driver& driver, const ReplayRequest& request, const LaunchFile& file);

/// Returns the passes of a replay, in order. If none fails, only the last one is printed.
std::vector<LaunchedOptions> passes_of(const ReplayRequest& request);

/// Repeats the launch that faulted, and returns what the driver's core dump says about it. The driver must
/// not have started in this process.
DumpedFault dumped_fault(const ReplayRequest& request, const LaunchFile& file,
                         const LaunchedOptions& options);

/// Prints what dumped_fault() returns for this pass.
int describe_fault(const ReplayRequest& request, const LaunchFile& file, std::uint32_t pass);

}  // namespace aoti_dbg::cli
