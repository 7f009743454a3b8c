// A run as the process that waited for it knows it. Plain data.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace aoti_dbg {

class TorchTrace;

/// The counts of a run. `loaded` counts programs: one that replaces itself by exec counts twice.
struct Seen {
    std::uint32_t loaded = 0;
    std::uint32_t partaking = 0;
    std::uint32_t models = 0;
    std::uint32_t recording = 0;
    std::uint32_t left_out = 0;
    std::uint32_t findings = 0;
    std::int32_t cuda_error = 0;  // destroyed a context in a process without any other record
    std::uint32_t idle = 0;       // processes that could have recorded calls and did not
};

/// A program that was started and has ended.
struct EndedRun {
    std::vector<std::string> command;
    std::string folder;               // for its output; may not exist
    std::uint64_t start_unix_ns = 0;  // before the program started
    pid_t pid = -1;
    int status = 0;                          // from waitpid
    std::optional<std::uint64_t> oom_kills;  // during the run
    bool has_status = true;                  // false: its exit is unknown, or it still runs
    int stopped_by = 0;                      // the signal sent to end it while it ran; 0: none
    std::uint64_t stopped_unix_ns = 0;       // when it was sent
    bool is_own_request = false;             // the process requests its own report at exit and waits for it
    std::optional<Seen> seen;                // what its processes counted, even if they could not write
    // The path of the report.json created while it ran; empty if it could not be written.
    std::optional<std::string> earlier_report;
    const TorchTrace* torch_trace = nullptr;  // logs of the models' compilation; null: none
};

/// True if the run may have ended in a hang, or because of one.
bool may_be_hang(const EndedRun& run);

}  // namespace aoti_dbg
