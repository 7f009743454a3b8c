// Writes a recording as a Perfetto trace.
#pragma once

#include <string>

#include "cli/new_file.hpp"
#include "cli/process_files.hpp"

namespace aoti_dbg::cli {

struct TraceRequest {
    std::string place;
    std::string output;  // empty: trace.pftrace in the folder of the recording
};

/// What a trace has.
struct TraceCounts {
    std::uint64_t processes = 0;
    std::uint64_t calls = 0;
    std::uint64_t spans = 0;
    std::uint64_t findings = 0;
};

/// Appends the processes to the file. Prints what it leaves out.
Status write_trace(const std::vector<ProcessFiles>& processes, NewFile& file, TraceCounts& counts);

/// Returns the exit code.
int trace(const TraceRequest& request);

}  // namespace aoti_dbg::cli
