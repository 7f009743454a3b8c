// Finds the recorded file for a path that may name a directory.
#pragma once

#include <string>
#include <vector>

#include "base/status.hpp"

namespace aoti_dbg::cli {

/// What a run leaves in its directory.
enum class Recorded {
    ring,    // flight.ring, and flight-PID.ring for further processes
    events,  // events.jsonl, and events-PID.jsonl
};

struct FoundFile {
    std::string path;
    std::vector<std::string> others;  // same kind, below the same directory, newest first
};

/// Returns the file itself. For a directory, returns its own file, else that of its `latest`, else the newest
/// below it.
Result<FoundFile> find_recorded(const std::string& place, Recorded kind);

}  // namespace aoti_dbg::cli
