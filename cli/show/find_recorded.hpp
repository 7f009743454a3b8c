// Where the file is that somebody means who names a folder.
#pragma once

#include <string>
#include <vector>

#include "base/status.hpp"

namespace aoti_dbg::cli {

/// What a run leaves in its folder.
enum class Recorded {
    ring,    // flight.ring, and flight-PID.ring of further processes
    events,  // events.jsonl, and events-PID.jsonl
};

struct FoundFile {
    std::string path;
    std::vector<std::string> others;  // of the same kind, below the same folder, newest first
};

/// The file itself; or the folder's own, that of its `latest`, or the newest below it.
Result<FoundFile> find_recorded(const std::string& place, Recorded kind);

}  // namespace aoti_dbg::cli
