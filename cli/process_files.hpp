// Finds what the processes of a recording left in a folder and below it: events, flight rings and timelines.
// Follows no link but the folder itself and its `latest`. Must never write.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.hpp"

namespace aoti_dbg::cli {

/// The files of one process. A path is empty if there is no such file.
struct ProcessFiles {
    std::string folder;
    std::uint64_t pid = 0;
    std::string events;
    std::string ring;
    std::string timeline;
};

/// Returns the processes of a folder and of those below it, in the order of their paths.
std::vector<ProcessFiles> processes_below(const std::string& folder);

struct FoundProcesses {
    std::string folder;  // of the recording, for what is written about it
    std::vector<ProcessFiles> processes;
};

/// `place` is a folder, or an events.jsonl, whose process alone is found. A folder without files of its own
/// stands for its `latest`.
Result<FoundProcesses> find_processes(const std::string& place);

}  // namespace aoti_dbg::cli
