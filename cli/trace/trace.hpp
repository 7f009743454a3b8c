// Writes a recording as a Perfetto trace.
#pragma once

#include <string>

#include "cli/new_file.hpp"
#include "cli/process_files.hpp"
#include "model/torch_trace.hpp"

namespace aoti_dbg::cli {

struct TraceRequest {
    std::string place;
    std::string output;       // empty: trace.pftrace in the folder of the recording
    std::string torch_trace;  // logs of the models' compilation; empty: none
};

/// What a trace has.
struct TraceCounts {
    std::uint64_t processes = 0;
    std::uint64_t calls = 0;
    std::uint64_t spans = 0;
    std::uint64_t findings = 0;
};

/// Appends the processes to the file. Prints what it leaves out. `logs` may be null.
Status write_trace(const std::vector<ProcessFiles>& processes, const TorchTrace* logs, NewFile& file,
                   TraceCounts& counts);

/// Returns the exit code.
int trace(const TraceRequest& request);

}  // namespace aoti_dbg::cli
